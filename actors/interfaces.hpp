// The interfaces of all actors in one place: the messages that each one takes, with one comment line above each
// message.
#pragma once

#include <caf/typed_actor.hpp>

#include "actors/agent_messages.hpp"
#include "actors/mcp_messages.hpp"
#include "actors/messages.hpp"

namespace quell::actors {

/// The owner of ledger and fleet: one thread, one at a time.
using controller_actor = caf::typed_actor<
    // From the service and the turns: a command with its reply.
    caf::reacts_to<execute_command>,
    // A question that only reads.
    caf::reacts_to<ask_core>,
    // From the control socket.
    caf::reacts_to<frames_arrived>,
    // From the journal's writer.
    caf::reacts_to<batch_committed>,
    // From the main thread.
    caf::reacts_to<shut_down>,
    // INTERNAL: timers.
    caf::reacts_to<clock_ticked>,
    // INTERNAL: end of a burst of messages.
    caf::reacts_to<burst_over>>;

/// Runs background reads one after the other, in the order of their instants.
using executor_actor = caf::typed_actor<
    // From any thread.
    caf::reacts_to<run_job>,
    // INTERNAL: the first job is due.
    caf::reacts_to<clock_ticked>>;

/// Takes the steps of one component of the turn scheduler, such as the acknowledger of stops.
using step_actor = caf::typed_actor<
    // From any thread.
    caf::reacts_to<run_step>,
    // From any thread.
    caf::reacts_to<run_step_later>,
    // INTERNAL: the first later step is due.
    caf::reacts_to<clock_ticked>>;

/// The parent of all scope actors. It reports the agents that die, also those whose scope has died.
using supervisor_actor = caf::typed_actor<
    // From the turn scheduler. Urgent.
    caf::reacts_to<begin_agent>,
    // From the turn scheduler, and from the calls of sub-agents. Urgent if it is a stop.
    caf::reacts_to<tell_agent>,
    // From below.
    caf::reacts_to<agent_ended>>;

/// The parent of the reply and sub-agent actors of one scope. It lives as long as one of them does.
using scope_actor = caf::typed_actor<
    // From the supervisor. Urgent.
    caf::reacts_to<begin_agent>,
    // From the supervisor. Urgent if it is a stop.
    caf::reacts_to<tell_agent>>;

/// The owner of the MCP servers and remote agents of the process.
using mcp_host_actor = caf::typed_actor<
    // From an agent that begins.
    caf::reacts_to<gather_tools>,
    // From a call. Urgent, if it is stopped and its task at a remote agent with it.
    caf::reacts_to<reach_server>,
    // From the turn scheduler, or from a sub-agent's call: an agent has ended.
    caf::reacts_to<mcp_user_over>,
    // From the turn scheduler, at its start.
    caf::reacts_to<read_cards>,
    // From the logins.
    caf::reacts_to<login_changed>,
    // INTERNAL: answers and ends of servers.
    caf::reacts_to<mcp_news>,
    // INTERNAL: timers.
    caf::reacts_to<clock_ticked>>;

/// A reply actor (one turn) or a sub-agent actor, linked to its scope's actor; below it are tool actors.
using agent_actor = caf::typed_actor<
    // From above: the whole turn was stopped.
    caf::reacts_to<cancel_now>,
    // From above: one call was stopped.
    caf::reacts_to<call_cancelled>,
    // From above: a human decided about a waiting call.
    caf::reacts_to<on_human_decision>,
    // From above: a running call waits for a human, or no longer does.
    caf::reacts_to<call_waits>,
    // From below.
    caf::reacts_to<tool_over>,
    // INTERNAL: answers and events of ports.
    caf::reacts_to<answer_arrived>,
    // INTERNAL: timers.
    caf::reacts_to<turn_ticked>>;

/// One running tool call. It ends when its work ends, even if nobody waits for it any longer.
using tool_actor = caf::typed_actor<
    // From the agent above.
    caf::reacts_to<cancel_now>,
    // INTERNAL: answers of ports, and the end of the work.
    caf::reacts_to<answer_arrived>>;

} // namespace quell::actors
