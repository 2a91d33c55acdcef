// The operation's JSON, field by field in the order of SURFACE 2.
#include "gateway/operation_json.hpp"

#include "controller/external_operations.hpp"

namespace quell::controller::http {

namespace {

void write_waiting(json_writer& to, const std::optional<waiting_for>& waiting) {
  to.key("waiting_for");
  if (!waiting) return to.put(nullptr);
  to.open_object();
  to.field("what", waiting->what).field("since_at", waiting->since).field("detail", waiting->detail);
  to.close_object();
}

void write_stop(json_writer& to, const shown_operation& op) {
  to.key("stop");
  const auto& stop = op.row.hot.stop;
  if (!stop) return to.put(nullptr);
  to.open_object();
  to.field("cause", stop->cause).field("cancel", stop->cancel);
  to.field("reason", op.stop_reason).field("by", op.stop_by);
  to.field("signalled_at", stop->signalled_at).field("kill_at", stop->kill_at);
  to.field("receipt", stop->how).field("proof", stop->evidence);
  to.close_object();
}

void write_exit(json_writer& to, const std::optional<exit_state>& exit) {
  to.key("exit");
  if (!exit) return to.put(nullptr);
  to.open_object();
  if (exit->signal)
    to.field("signal", *exit->signal);
  else
    to.field("code", exit->code);
  to.close_object();
}

void write_error(json_writer& to, const std::optional<records::operation_error>& error) {
  to.key("error");
  if (!error) return to.put(nullptr);
  to.open_object();
  to.field("code", error->code).field("message", error->message);
  to.close_object();
}

/// Writes a limit: null = the worker's.
template <class Number>
std::optional<Number> requested(Number limit) {
  return limit == 0 ? std::nullopt : std::optional(limit);
}

void write_task(json_writer& to, const records::operation_record& row, milliseconds worker_lease) {
  to.key("task").open_object();
  to.field("command", row.task.command).field("cwd", row.task.cwd);
  to.key("env_names").open_array(); // names only: the values are secrets
  for (const auto& [name, value] : row.task.env) to.put(name);
  to.close_array();
  to.field("pty", row.task.pty).field("stdin", row.task.stdin_open).field("stop_signal", row.task.stop_signal);
  to.field("slots", row.task.slots).field("on_leader_exit", row.task.leader_exit);
  to.field("lease_ms", row.task.lease.value_or(worker_lease)).field("containment", row.hot.level);
  to.field("pid", row.hot.pid > 0 ? std::optional(row.hot.pid) : std::nullopt);
  to.field("on", row.task.on).field("user", row.task.user);
  to.field("memory_bytes", requested(row.task.memory_bytes)).field("pids", requested(row.task.pids));
  to.field("cpu", row.task.cpu_millis == 0 ? std::nullopt : std::optional(row.task.cpu_millis / 1000.0));
  to.key("secret_names").open_array(); // names only, as with env
  for (const auto& [name, sealed] : row.task.secrets) to.put(name);
  to.close_array();
  to.key("output").open_object();
  to.field("stdout_bytes", row.hot.output.stdout_bytes).field("stderr_bytes", row.hot.output.stderr_bytes);
  to.field("dropped_bytes", row.hot.output.dropped_bytes);
  to.close_object();
  to.close_object();
}

void write_external(json_writer& to, const shown_operation& op) {
  const external_spec spec = read_external_block(op.row.kind_data);
  to.key("external").open_object();
  to.field("lease_ms", spec.lease).field("lease_expires_at", op.lease_expires_at);
  to.field("session", spec.session.empty() ? std::nullopt : std::optional(spec.session));
  to.close_object();
}

} // namespace

void overlay(shown_operation& op, const live_view& live) {
  op.row.hot = live.hot;
  op.waiting = live.waiting;
  op.unreachable_since = live.unreachable_since;
  op.dead_by = live.dead_by;
  op.lease_expires_at = live.lease_expires_at;
}

void write_operation(json_writer& to, const shown_operation& op, milliseconds worker_lease) {
  const auto& row = op.row;
  to.open_object();
  to.field("id", row.id)
      .field("seq", row.seq)
      .field("kind", row.kind)
      .field("name", row.name)
      .field("title", row.title);
  to.field("scope", row.scope).field("parent", row.parent).field("root", row.root).field("owner", row.owner);
  to.field("labels", row.labels).field("supersede", row.supersede).field("status", row.hot.now);
  write_waiting(to, op.waiting);
  to.field("worker", row.hot.worker);
  to.key("unreachable");
  if (op.unreachable_since) {
    to.open_object();
    to.field("since_at", op.unreachable_since).field("dead_by", op.dead_by);
    to.close_object();
  } else {
    to.put(nullptr);
  }
  to.field("timeout_ms", row.timeout).field("deadline_at", row.hot.deadline_at).field("grace_ms", row.grace);
  to.field("on_parent_end", row.on_parent_end).field("created_at", row.created_at);
  to.field("started_at", row.hot.started_at).field("ended_at", row.hot.ended_at);
  write_stop(to, op);
  write_exit(to, row.hot.exit);
  to.raw_field("result", row.hot.result);
  write_error(to, row.hot.error);
  to.raw_field("late", row.hot.late);
  if (row.kind == kind::task) write_task(to, row, worker_lease);
  if (row.kind == kind::external) write_external(to, op);
  if (row.kind == kind::turn) to.raw_field("turn", op.kind_data);
  if (row.kind == kind::exchange) to.raw_field("exchange", op.kind_data);
  if (row.kind == kind::tool_call) to.raw_field("tool", op.kind_data.empty() ? row.kind_data : op.kind_data);
  to.close_object();
}

void write_operation_summary(json_writer& to, const shown_operation& op) {
  to.open_object();
  to.field("id", op.row.id).field("kind", op.row.kind).field("title", op.row.title).field("scope", op.row.scope);
  to.field("worker", op.row.hot.worker).field("status", op.row.hot.now).field("owner", op.row.owner);
  to.close_object();
}

} // namespace quell::controller::http
