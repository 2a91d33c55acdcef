// Live exchanges in the ledger: begins, ends and cancels them, and notifies when somebody else cancels one. On the
// loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "actors/voice/callers.hpp"
#include "actors/voice/voice_context.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class exchange_table : public std::enable_shared_from_this<exchange_table> {
 public:
  explicit exchange_table(std::weak_ptr<voice_context> house) : context_(std::move(house)) {}

  struct watcher {
    std::function<void()> stopped; ///< by a cancel from anywhere, also while its own end is on its way
    std::function<void(const std::string& why)> refused; ///< it is not in the ledger
  };
  operation_id begin(const speaker& who, const std::string& session, watcher w);
  void transcribed(const operation_id& id, const std::string& text);
  /// A brain has begun to answer it: until that is heard, it is work of its speaker.
  void answered(const operation_id& id);
  /// Its words were a stop that stopped nothing, and go to the brain: nothing of it is work of its speaker.
  void refused_stop(const operation_id& id);
  /// Tells words of which exchanges, of all sessions, these two were said.
  void tell_standing(turns::message_order& order) const;
  /// Its own work has ended; it ends with the operations that it started. `failure` "": completed. Only the ledger
  /// knows whether a stop came first, so exactly one call follows: `ended` once this end is durable, or one of its
  /// watcher's.
  void finish(const operation_id& id, bool was_spoken, const std::string& failure, std::function<void()> ended);
  /// The message router has ended it.
  void forget(const operation_id& id) { live_.erase(id); }
  /// Answers when the cancel is fenced, or with false at once if the exchange has already ended.
  void cancel(const operation_id& id, const speaker& who, std::function<void(bool was_live)> fenced);
  /// Cancels one whose turn alone was cancelled, so that nothing answers it any more; quell orders it. Answers with
  /// false if the ledger does not take it, and then nothing changes.
  void cancel_unanswered(const operation_id& id, std::function<void(bool was_taken)> fenced);
  /// Its client has disconnected.
  void leave(const operation_id& id);
  /// The controller reports a stop of it.
  void signalled(const operation_id& id);

 private:
  struct entry {
    std::string transcript;
    watcher observer;
    std::function<void()> ended{}; ///< set while its own end is on its way
    bool is_answered = false, is_refused_stop = false;
  };
  void give(cancel_order c, const operation_id& id, std::function<void(bool was_taken)> answered);
  void end(const operation_id& id, const own_outcome& how);
  void has_ended(const operation_id& id, bool has_ended_itself);
  std::weak_ptr<voice_context> context_;
  std::unordered_map<operation_id, entry> live_;
};

} // namespace quell::controller::voice
