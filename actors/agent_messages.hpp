// Local messages of the actors that do the swarm's own work: reply, sub-agent and tool actors. A cancel is urgent: it
// overtakes everything that waits in a mailbox.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <functional>
#include <string>
#include <utility>

#include "actors/agent/ports.hpp"
#include "actors/handed_over.hpp"

namespace quell::actors {

/// Stop what you do, and what you have started. URGENT, down the links.
struct cancel_now {
  abort_reason why = abort_reason::user;
  std::string reason;
};

/// One call alone was told to stop; its turn goes on. URGENT.
struct call_cancelled {
  operation_id call;
  std::string reason;
};

/// A human approved or denied a call that waited for it.
struct human_said {
  operation_id call;
  bool approved = false;
  std::string reason;
};

/// A call that runs waits for a human's answer, or has it.
struct call_waits {
  operation_id call;
  bool for_human = false;
};

/// UP: a tool's work is over, and this is its one result.
struct tool_over {
  call_number number = 0;
  tool_result stands;
};

/// INTERNAL: an answer of a port came back, or the work of a tool has ended; runs on the actor's thread.
struct continued {
  continued() = default;
  explicit continued(std::function<void()> then) : what(handed_over(std::move(then))) {}
  std::function<void()> what;
};

/// INTERNAL: the clock reached what the turn waits for.
struct turn_ticked {
  std::uint64_t generation = 0;
};

} // namespace quell::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::cancel_now)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::call_cancelled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::human_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::call_waits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::tool_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::continued)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::turn_ticked)
