// Local messages of the actors that do quell's own work: reply, sub-agent and tool actors. A cancel is urgent: it
// overtakes every message that waits in a mailbox.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "actors/agent/start.hpp"
#include "actors/handoff_for_tsan.hpp"
#include "protocol/scope.hpp"

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

struct call_waits {
  operation_id call;
  human_wait what = human_wait::begins;
};

/// UP: a tool's work is over; carries its only result.
struct tool_over {
  call_number number = 0;
  tool_result stands;
};

/// Names an agent to the actors above it.
struct agent_name {
  scope_path scope; ///< whose actor is its parent
};
using agent_ref = std::shared_ptr<const agent_name>;

/// DOWN, from the turn scheduler to the supervisor to the scope: an agent begins. URGENT, so that no stop overtakes it.
struct begin_agent {
  begin_agent() = default;
  begin_agent(agent_ref name, std::function<std::shared_ptr<agent_start>()> inputs, std::function<void()> report)
      : which(std::move(name)), start(annotate_handoff_for_tsan(std::move(inputs))),
        broke(annotate_handoff_for_tsan(std::move(report))) {}
  agent_ref which;
  std::function<std::shared_ptr<agent_start>()> start;
  std::function<void()> broke; ///< called once if it dies of an error, on the supervisor's thread
};

/// The end of the process takes the agent along.
struct leave_now {};

/// DOWN, on the same way: a message for an agent. Ignored once the agent is over.
struct tell_agent {
  agent_ref which;
  std::variant<cancel_now, call_cancelled, on_human_decision, call_waits, leave_now> what;
};

/// UP, from a scope to the supervisor: its child has ended.
struct agent_ended {
  agent_ref which;
  bool is_broken = false; ///< it died of an error
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
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::begin_agent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::tell_agent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::agent_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::answer_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::turn_ticked)
