// Local messages of the actors that do quell's own work: reply, sub-agent and tool actors. A cancel is urgent: it
// overtakes every message that waits in a mailbox.
#pragma once

#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "actors/agent/ports.hpp"
#include "actors/handoff_for_tsan.hpp"

namespace quell::actors {

/// Stops the receiver's work and everything that it has started. URGENT, down the links.
struct cancel_now {
  abort_reason why = abort_reason::user;
  std::string reason;
};

/// One call alone was stopped; its turn goes on. URGENT.
struct call_cancelled {
  operation_id call;
  std::string reason;
};

/// A human approved or denied a call that waited for it, or nobody did in time.
struct on_human_decision {
  operation_id call;
  approval_outcome how = approval_outcome::denied;
  std::string reason;
  std::optional<std::string> input; ///< JSON text: another one than the call's own
};

/// A running call waits for a human's answer, or has received it.
struct call_waits {
  operation_id call;
  bool for_human = false;
};

/// UP: a tool's work is over; carries its only result.
struct tool_over {
  call_number number = 0;
  tool_result stands;
};

/// An agent's actor has been started: from here on its parent reports its death.
struct agent_spawned {
  agent_spawned() = default;
  agent_spawned(caf::strong_actor_ptr actor, std::function<void()> report)
      : agent(std::move(actor)), broke(annotate_handoff_for_tsan(std::move(report))) {}
  caf::strong_actor_ptr agent;
  std::function<void()> broke; ///< called once if it dies of an error, on the parent's thread
};

/// INTERNAL: an answer or event of a port has arrived, or the work of a tool has ended; `handle` runs on the actor's
/// thread.
struct answer_arrived {
  answer_arrived() = default;
  explicit answer_arrived(std::function<void()> then) : handle(annotate_handoff_for_tsan(std::move(then))) {}
  std::function<void()> handle;
};

/// INTERNAL: the clock has reached the instant for which the turn waits.
struct turn_ticked {
  std::uint64_t generation = 0;
};

} // namespace quell::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::cancel_now)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::call_cancelled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::on_human_decision)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::call_waits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::tool_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::agent_spawned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::answer_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::turn_ticked)
