// Reads turns as tasks, with what is known of their stop.
#pragma once

#include <string>

#include "gateway/a2a/task.hpp"
#include "gateway/exchange.hpp"
#include "gateway/presenter.hpp"

namespace quell::controller::http::a2a {

/// The agent that the path names, if this caller can reach it.
struct served_agent {
  std::string name;
  std::string base; ///< the scope below which the caller's conversations with it lie; "" = none
};

/// Throws `not_found`: this quelld answers no messages, or has no such agent for this token.
served_agent agent_of_path(exchange& x);

/// `shown`: a turn. Reads what its stop has come to.
awaitable<task_facts> facts_of(thread_context& gw, shown_operation shown, const served_agent& agent);
/// The turn `id` as it is now. Nullopt: it is no longer kept.
awaitable<std::optional<task_facts>> find_task(thread_context& gw, operation_id id, const served_agent& agent);
/// The id of a task of this agent that the caller sees. Throws `task_not_found`.
awaitable<operation_id> visible_task(exchange& x, const served_agent& agent, std::string_view id);

/// Waits until the task is over or asks its caller, the client has disconnected or quelld ends, and returns the state
/// of that moment. The caller holds a ticket.
awaitable<task_facts> wait_until_over(exchange& x, operation_id id, const served_agent& agent);

/// True for a turn of this agent.
bool is_task_of(const records::operation_record& row, const served_agent& agent);

} // namespace quell::controller::http::a2a
