// Reads the row of the starting task, and the rows above it.
#include "gateway/task_confinement.hpp"

#include <algorithm>

#include "gateway/presenter.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::http {

namespace {

problem not_elsewhere(const std::string& why, const std::string& field) {
  return {.code = error_code::forbidden, .detail = why + "; leave out " + field};
}

/// The tighter of two limits; 0 = no limit.
template <class Number>
Number tighter(Number a, Number b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

/// None of the operations that a task starts gets higher limits than the task itself.
void keep_limits(const task_spec& own, task_spec& made) {
  made.memory_bytes = tighter(made.memory_bytes, own.memory_bytes);
  made.pids = tighter(made.pids, own.pids);
  made.cpu_millis = tighter(made.cpu_millis, own.cpu_millis);
}

/// Operations that a task with a user starts get the same user: its token must not give access to the worker's own
/// user.
void keep_user(const task_spec& own, task_spec& made) {
  if (!own.user) return;
  if (made.user && made.user != own.user)
    throw not_elsewhere("a task that runs as " + *own.user + " starts others as that user only", "/task/user");
  made.user = own.user;
}

void keep_worker(const task_spec& own, task_spec& made) {
  if (own.worker && made.worker && made.worker != own.worker)
    throw not_elsewhere("a command of an agent that works on " + *own.worker + " starts others there only",
                        "/task/worker");
  if (own.worker) made.worker = own.worker;
  for (const auto& [key, value] : own.on)
    if (made.on.emplace(key, value).first->second != value)
      throw not_elsewhere("a command of an agent that works on workers with " + key + "=" + value +
                              " starts others there only",
                          "/task/on");
}

/// A task beside the workspace could write where other conversations read.
void keep_workspace(const workspace_place& own, task_spec& made) {
  auto same = own;
  same.must_exist = true;
  same.remove = false;
  if (made.cwd)
    same.below = *made.cwd;
  else if (made.default_cwd)
    same.below = *made.default_cwd; // the starter sees the same directories
  made.cwd = same.text();
  made.default_cwd.reset();
  made.default_cwd_host.reset();
}

/// Whether a call of an agent began it, or what began it. A server that runs beside the calls (of MCP, in a turn) is
/// placed by its own settings.
result<bool> is_of_call(store_reader& q, std::optional<operation_id> parent) {
  while (parent) {
    auto above = q.operation(*parent);
    if (!above) return tl::unexpected(above.error());
    if (!*above) return false;
    if ((*above)->kind == kind::tool_call) return true;
    if ((*above)->kind == kind::turn || (*above)->kind == kind::sub_agent) return false;
    parent = (*above)->parent;
  }
  return false;
}

} // namespace

awaitable<> confine_to_task(exchange& x, create_order& order) {
  const auto task = *x.who.task;
  if (order.on_parent_end == on_parent_end::detach)
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token may not detach its children; use cancel or wait in /on_parent_end"};
  if (!order.parent) order.parent = task;
  const auto parent = *order.parent;
  if (parent == task) co_return;
  const bool below = co_await x.gw.read<bool>([parent, task](store_reader& q) { return q.is_below(parent, task); });
  if (!below)
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token creates below its own operation " + task.text() +
                            " only; leave out /parent, or name an operation below it"};
}

awaitable<> keep_confinement(exchange& x, create_order& order) {
  const auto own = co_await find_row(x.gw, *x.who.task);
  if (!own) co_return;
  keep_limits(own->task, order.task);
  keep_user(own->task, order.task);
  const auto place = own->task.cwd ? workspace_place::parse(*own->task.cwd) : std::nullopt;
  if (place && !*place) throw from_fault(place->error());
  if (place) keep_workspace(**place, order.task);
  bool is_bound = place.has_value();
  if (!is_bound && (own->task.worker || !own->task.on.empty())) {
    const auto job = [above = own->parent](store_reader& q) { return is_of_call(q, above); };
    is_bound = co_await x.gw.read<bool>(job);
  }
  if (is_bound) keep_worker(own->task, order.task);
}

} // namespace quell::controller::http
