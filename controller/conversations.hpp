// The core's state of conversations beyond the ledger: the turns of each scope in their order, who began what, and
// the decisions of the last minute. Pure; not stored. After a restart the turns enter their queues again
// (`pick_up_turns`), and each one that goes on names its author again (`note_turn_begun`).
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/recent_messages.hpp"

namespace quell::controller::turns {

/// A turn in the queue of its scope, or a change of its conversation.
struct queued_turn {
  operation_id turn;
  scope_path scope;
  bool resumes = false;   ///< it had begun before the restart
  bool is_change = false; ///< of no operation, or of one that begins later
};

/// The kind of message that a turn answers: the author of a refused stop does not become an owner of running work.
enum class turn_of : std::uint8_t { message, refused_stop };

/// Whether a chat brought the message of a turn: then its commands can wait for a human.
enum class brought_by : std::uint8_t { person, chat };

/// A live turn and the author of its message.
struct begun_turn {
  operation_id turn;
  std::string owner;
  scope_path scope;
  turn_of what;
  std::string agent = {}; ///< "" = unknown
  brought_by way = brought_by::person;
};

class conversations {
 public:
  /// The turns of exactly this scope that have not left, the first one included.
  std::size_t length(const scope_path& scope) const;
  /// True: the turn is the first of its scope, so it may begin.
  bool enter(queued_turn which);
  /// Nothing runs or waits in this scope: its queue holds at most turns that have ended and are about to leave.
  bool is_idle(const scope_path& scope, const std::function<bool(const operation_id& turn)>& has_ended) const;
  /// A change of an idle scope gets a queue without the ended turns, which leave it so.
  void enter_idle(queued_turn change);
  /// The first turn of this scope, if it has begun, with its author; nullopt also for a change of the conversation.
  std::optional<begun_turn> running(const scope_path& scope) const;
  /// Nothing else is in the queue of this scope.
  bool is_alone(const operation_id& turn, const scope_path& scope) const;
  /// Its own work is over. The turn that may begin now: the next one, if this one was the first. Idempotent.
  std::optional<queued_turn> leave(const operation_id& turn, const scope_path& scope);

  /// The turn of this author has begun; `ended` forgets it.
  void note_begun(const operation_id& turn, const std::string& owner, const scope_path& scope, turn_of what,
                  const std::string& agent = {}, brought_by way = brought_by::person);
  void ended(const operation_id& operation) { begun_.erase(operation); }
  /// Whether this author owns work in a scope, by his turns there: a turn, only refused stops, none.
  enum class ownership : std::uint8_t { has_turn, was_refused, unknown };
  ownership of(const std::string& owner, const scope_path& scope) const;

  recent_messages recent;

 private:
  std::unordered_map<std::string, std::deque<queued_turn>> scopes_; ///< the front runs
  std::unordered_map<operation_id, begun_turn> begun_;              ///< live turns
};

} // namespace quell::controller::turns
