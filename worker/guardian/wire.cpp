// Encodes and decodes the datagrams between a worker and its guardian.
#include "worker/guardian/wire.hpp"

#include <csignal>
#include <cstring>

namespace quell::worker {

void byte_writer::put_text(std::string_view text) {
  put(static_cast<std::uint32_t>(text.size()));
  bytes_.append(text);
  bytes_.push_back('\0');
}

std::string_view byte_reader::chunk(std::size_t size) {
  if (!ok_ || rest_.size() < size) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  auto piece = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return piece;
}

operation_id byte_reader::take_id() {
  operation_id id;
  if (auto piece = chunk(id.bytes.size()); !piece.empty()) std::memcpy(id.bytes.data(), piece.data(), piece.size());
  return id;
}

std::string_view byte_reader::take_text() {
  const auto size = take<std::uint32_t>();
  auto piece = chunk(std::size_t{size} + 1);
  if (piece.empty()) return {};
  return piece.substr(0, size);
}

std::string encode_spawn_texts(const spawn_request& r) {
  byte_writer out;
  out.put_text(r.directory);
  out.put(static_cast<std::uint32_t>(r.command.size()));
  for (const auto& word : r.command) out.put_text(word);
  out.put(static_cast<std::uint32_t>(r.environment.size()));
  for (const auto& word : r.environment) out.put_text(word);
  out.put(r.as.has_value());
  if (r.as) {
    out.put(r.as->uid);
    out.put(r.as->gid);
    out.put(static_cast<std::uint32_t>(r.as->groups.size()));
    for (const auto group : r.as->groups) out.put(group);
  }
  out.put(r.limits.memory_bytes);
  out.put(r.limits.pids);
  out.put(r.limits.cpu_millis);
  out.put(r.limits.memory_required);
  out.put(r.limits.pids_required);
  out.put(r.limits.cpu_required);
  out.put(static_cast<std::uint32_t>(r.hide.size()));
  for (const auto& directory : r.hide) out.put_text(directory);
  const workspace_request none;
  const auto& workspace = r.workspace ? *r.workspace : none;
  out.put_text(workspace.name);
  out.put(workspace.file_limit);
  out.put_text(workspace.notice);
  return std::move(out.bytes());
}

std::string encode_spawn(const spawn_header& header, std::string_view texts) {
  byte_writer out;
  out.put(request_tag::spawn);
  out.put_id(header.operation);
  out.put(header.pty);
  out.put(header.in_memfd);
  out.put(header.stop_signal);
  out.put(header.leader_exit);
  out.put(header.lease_ms);
  out.put(header.secrets);
  out.bytes().append(texts);
  return std::move(out.bytes());
}

spawn_header take_spawn_header(byte_reader& in) {
  spawn_header header;
  header.operation = in.take_id();
  header.pty = in.take<bool>();
  header.in_memfd = in.take<bool>();
  header.stop_signal = in.take<int>();
  header.leader_exit = in.take<on_leader_exit>();
  header.lease_ms = in.take<std::int64_t>();
  header.secrets = in.take<std::uint8_t>();
  return header;
}

std::string encode_stop(const stop_order& order) {
  byte_writer out;
  out.put(request_tag::stop);
  out.put_id(order.operation);
  out.put(order.held);
  out.put(order.kill_at.ns);
  out.put(order.signal_at_ns);
  return std::move(out.bytes());
}

stop_order take_stop(byte_reader& in) {
  stop_order order;
  order.operation = in.take_id();
  order.held = in.take<bool>();
  order.kill_at.ns = in.take<std::int64_t>();
  order.signal_at_ns = in.take<std::int64_t>();
  return order;
}

namespace {

void put_exit(byte_writer& out, const exit_state& exit) {
  out.put(exit.code.value_or(-1));
  out.put_text(exit.signal.value_or(""));
}

exit_state take_exit(byte_reader& in) {
  exit_state exit;
  const auto code = in.take<std::int32_t>();
  const auto signal = in.take_text();
  if (signal.empty())
    exit.code = code;
  else
    exit.signal = std::string(signal);
  return exit;
}

struct event_encoder {
  byte_writer& out;

  void head(event_tag tag, const operation_id& id) {
    out.put(tag);
    out.put_id(id);
  }
  void put_processes(const std::vector<process_view>& processes) {
    out.put(static_cast<std::uint32_t>(processes.size()));
    for (const auto& p : processes) {
      out.put(p.pid);
      out.put_text(p.state);
      out.put_text(p.command);
    }
  }
  void operator()(const task_held& e) {
    head(event_tag::held, e.operation);
    out.put(e.pid);
  }
  void operator()(const task_spawn_failed& e) {
    head(event_tag::spawn_failed, e.operation);
    out.put_text(e.message);
    out.put(e.by_worker);
  }
  void operator()(const task_executing& e) { head(event_tag::executing, e.operation); }
  void operator()(const task_exec_failed& e) {
    head(event_tag::exec_failed, e.operation);
    out.put(e.code);
    out.put_text(e.message);
  }
  void operator()(const task_leader_exited& e) {
    head(event_tag::leader_exited, e.operation);
    put_exit(out, e.exit);
  }
  void operator()(const task_ended_here& e) {
    head(event_tag::ended, e.operation);
    out.put(e.exit.has_value());
    if (e.exit) put_exit(out, *e.exit);
    out.put(e.sent);
    out.put(e.evidence);
    out.put(e.ended_at ? e.ended_at->ns : std::int64_t{-1});
    out.put_text(e.limit);
    out.put(e.left_total);
    put_processes(e.left);
  }
  void operator()(const task_still_there& e) {
    head(event_tag::still_there, e.operation);
    out.put(e.why);
    out.put(e.processes_total);
    put_processes(e.processes);
    out.put(e.kill_again_at.has_value());
    out.put(e.kill_again_at.value_or(boot_time{}).ns);
  }
  void operator()(const guardian_gone&) {} // never sent: the client creates it
};

std::vector<process_view> take_processes(byte_reader& in) {
  std::vector<process_view> processes;
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    process_view view;
    view.pid = in.take<std::int32_t>();
    view.state = std::string(in.take_text());
    view.command = std::string(in.take_text());
    processes.push_back(std::move(view));
  }
  return processes;
}

task_still_there take_still_there(byte_reader& in, const operation_id& id) {
  task_still_there e;
  e.operation = id;
  e.why = in.take<unproven_why>();
  e.processes_total = in.take<std::uint32_t>();
  e.processes = take_processes(in);
  const bool again = in.take<bool>();
  const auto at = in.take<std::int64_t>();
  if (again) e.kill_again_at = boot_time{at};
  return e;
}

} // namespace

void put_event(byte_writer& out, const guardian_event& event) { std::visit(event_encoder{out}, event); }

std::string encode_report(const containment_report& report) {
  byte_writer out;
  out.put(event_tag::report);
  out.put(report.level);
  out.put(static_cast<std::uint32_t>(report.limits.size()));
  for (const auto& limit : report.limits) out.put_text(limit);
  out.put(report.earlier_ended);
  out.put_text(report.no_workspaces);
  out.put(report.workspaces_by_user_namespace);
  return std::move(out.bytes());
}

std::string encode_launch_failure(std::string_view why) {
  byte_writer out;
  out.put(event_tag::launch_failed);
  out.put_text(why);
  return std::move(out.bytes());
}

result<containment_report> decode_report(std::string_view datagram) {
  byte_reader in(datagram);
  const auto tag = in.take<event_tag>();
  if (tag == event_tag::launch_failed) return failure("guardian_failed", std::string(in.take_text()));
  if (tag != event_tag::report)
    return failure("guardian_failed",
                   "the guardian did not begin with its report; is quell-guardian of another version?");
  containment_report report;
  report.level = in.take<containment>();
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) report.limits.emplace_back(in.take_text());
  report.earlier_ended = in.take<bool>();
  report.no_workspaces = std::string(in.take_text());
  report.workspaces_by_user_namespace = in.take<bool>();
  return report;
}

std::vector<guardian_event> decode_events(std::string_view datagram) {
  std::vector<guardian_event> events;
  byte_reader in(datagram);
  while (in.ok() && !in.at_end()) {
    const auto tag = in.take<event_tag>();
    const auto id = in.take_id();
    guardian_event event = guardian_gone{};
    switch (tag) {
    case event_tag::held:
      event = task_held{id, in.take<std::int32_t>()};
      break;
    case event_tag::spawn_failed: {
      task_spawn_failed e{id, std::string(in.take_text())};
      e.by_worker = in.take<bool>();
      event = std::move(e);
      break;
    }
    case event_tag::executing:
      event = task_executing{id};
      break;
    case event_tag::exec_failed: {
      const auto code = in.take<std::int32_t>();
      event = task_exec_failed{id, code, std::string(in.take_text())};
      break;
    }
    case event_tag::leader_exited:
      event = task_leader_exited{id, take_exit(in)};
      break;
    case event_tag::ended: {
      task_ended_here e;
      e.operation = id;
      if (in.take<bool>()) e.exit = take_exit(in);
      e.sent = in.take<task_ended_here::force>();
      if (e.sent > task_ended_here::force::killed) return events;
      e.evidence = in.take<proof>();
      if (const auto at = in.take<std::int64_t>(); at >= 0) e.ended_at = boot_time{at};
      e.limit = std::string(in.take_text());
      e.left_total = in.take<std::uint32_t>();
      e.left = take_processes(in);
      event = std::move(e);
      break;
    }
    case event_tag::still_there:
      event = take_still_there(in, id);
      break;
    case event_tag::report:
    case event_tag::launch_failed:
      return events;
    }
    if (!in.ok() || std::holds_alternative<guardian_gone>(event)) break;
    events.push_back(std::move(event));
  }
  return events;
}

int signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number < 32; ++number)
    if (const char* known = sigabbrev_np(number); known && name == known) return number;
  return 0;
}

std::string signal_name(int number) {
  if (const char* known = sigabbrev_np(number)) return known;
  return std::to_string(number);
}

} // namespace quell::worker
