// The brain that answers a client, as a session sees it. On the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/voice/callers.hpp"
#include "integrations/voice/gateway_side.hpp"

namespace quell::controller::voice {

class brain_port {
 public:
  struct hooks {
    std::function<void(const integrations::voice::frame&)> on_frame;
    std::function<void(const std::string& why)> gone;
    /// The operation of the last exchange sent to it.
    std::function<std::optional<operation_id>()> exchange;
    /// Somebody wanted the work for this exchange to end, and it alone: it gets no answer, and this is not a failure.
    std::function<void(const operation_id& exchange)> answer_cancelled{};
    /// The work for this exchange asks its speaker something and goes on with the answer: it is spoken, and is
    /// not an answer.
    std::function<void(const std::string& question)> speak_question{};
  };
  virtual ~brain_port() = default;
  virtual void begin(hooks h) = 0;
  /// The client begins an exchange: a cancel from here on has something to discard, also one before its transcript.
  /// Not for brains that are programs: the protocol has no frame for it.
  virtual void exchange_begins() = 0;
  virtual void take(const integrations::voice::frame& f) = 0;
  /// Its client has left, and nothing that follows is a cancel by a user.
  virtual void client_left() = 0;
  /// It breaks the rules: a program is told why and disconnected, and `gone` follows.
  virtual void refuse(const fault& why) = 0;
  /// Its last answer was cancelled after it had been heard: no later prompt may have it as an answer. `done` once that
  /// is durable; at once if it has no answer of ours. A brain that is a program keeps its own history.
  virtual void retract(std::function<void()> done) = 0;
  /// An event of the session's scope.
  virtual void on_event(const records::event_record& e) = 0;
};

} // namespace quell::controller::voice
