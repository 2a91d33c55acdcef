// A turn that the client of one stream owns: it is stopped as soon as that client disconnects, whatever the answer had
// come to by then.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "protocol/id.hpp"

namespace quell::controller::http {

struct shared_state;

/// Held by the answer from the decision on, so that a client that disconnects before, between or after any step of its
/// stream is noticed: an answer that is dropped unsent stops the turn, too. Used by one thread at a time.
class owned_turn {
 public:
  /// `stop` stops the turn with everything below it; called at most once, on any thread of the gateway.
  owned_turn(std::shared_ptr<shared_state> state, const operation_id& turn, std::function<void()> stop);
  /// Nothing was reported: the client never got its stream. While quelld ends, that is not a disconnect.
  ~owned_turn();
  owned_turn(const owned_turn&) = delete;
  owned_turn& operator=(const owned_turn&) = delete;

  static constexpr std::string_view made_room = "its connection was closed to make room (limits.connections)";
  static constexpr std::string_view broke_off = "its stream broke off";

  /// The client has received the end of its turn.
  void ended();
  /// The client has disconnected.
  void client_gone();
  /// We ended the stream, which is not a disconnect: the turn goes on, and the log says why it lost its client.
  void goes_on(std::string_view why);

 private:
  std::shared_ptr<shared_state> state_;
  operation_id turn_;
  std::function<void()> stop_; ///< empty once it is settled what becomes of the turn
};

} // namespace quell::controller::http
