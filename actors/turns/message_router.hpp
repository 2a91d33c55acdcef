// The message router: decides whether a message is a stop, a turn, or neither. It decides on the ledger at one instant,
// so that a stop covers exactly the messages before it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "actors/turns/acknowledge.hpp"
#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/cancel_words.hpp"
#include "actors/turns/message_order.hpp"
#include "actors/turns/recent_messages.hpp"

namespace quell::controller::turns {

/// The turns of all scopes, one after the other in each. On the controller's thread.
struct turn_queue {
  std::function<std::size_t(const scope_path&)> length;
  /// True: the turn is the first of its scope.
  std::function<bool(const operation_id& turn, const scope_path&)> enter;
  /// Called once it is durable that the turn is the first.
  std::function<void(const operation_id& turn, const scope_path&)> begin;
};

/// Any thread. Must be held by a shared_ptr.
class message_router final : public std::enable_shared_from_this<message_router> {
 public:
  using answer = reply<outcome<message_answer>>;

  /// `repeats` looks up earlier copies of a message: one row by its key, with no other jobs in its queue.
  message_router(std::shared_ptr<agent_runtime> parts, std::unique_ptr<blocking_executor> repeats, turn_queue line);
  /// Ends all look-ups.
  /// Takes the cancel words and names from the settings that hold now. Any thread.
  void reload() { words_.set(words_by_place(parts_->settings->chat)); }
  void stop();
  /// Answers once the whole decision is durable; a stop is answered even if it could not be made durable.
  void take(message_order order, answer done);
  /// After a restart: acknowledges the stops that were not acknowledged.
  void pick_up();
  /// The kind of message that a turn answers: the author of a refused stop does not become an owner of running work.
  enum class turn_of : std::uint8_t { message, refused_stop };
  /// On the controller's thread.
  void note_begun(const operation_id& turn, const std::string& owner, const scope_path& scope, turn_of what);
  /// On the controller's thread.
  void ended(const operation_id& operation) { begun_.erase(operation); }
  /// On the controller's thread.
  void settled(const cancel_id& cancel) { says_->settled(cancel); }

 private:
  struct judged {
    std::optional<std::string> word;
    std::optional<turns::standing> standing;
    std::string why = "no_cancel_word";
  };
  void look_for_repeat(message_order order, answer done);
  void judge(message_order order, answer done);
  bool owns_work(const message_order& order, ledger& l, moment now) const;
  turns::standing standing_of(const message_order& order, ledger& l, moment now) const;
  std::function<void()> take_turn(ledger& l, moment now, const message_order& order, const judged& why, answer done);
  core_link::cancel_result take_stop(ledger& l, moment now, boot_time received, const message_order& order,
                                     const judged& why, answer done);
  void say_stopped(const message_order& order, message_answer a, const kept_decision& kept, answer done);
  void repeat(const records::message_record& known, store_reader& store, const message_order& order, answer done);

  std::shared_ptr<agent_runtime> parts_;
  const std::unique_ptr<blocking_executor> repeats_;
  const turn_queue line_;
  current<words_by_place> words_;
  const std::shared_ptr<acknowledger> says_;
  recent_messages said_; ///< used only on the controller's thread
  struct begun_turn {
    std::string owner;
    scope_path scope;
    turn_of what;
  };
  std::unordered_map<operation_id, begun_turn> begun_; ///< live turns; used only on the controller's thread
};

} // namespace quell::controller::turns
