// `quell show`: one operation.
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/columns.hpp"
#include "cli/commands/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/turn_view.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

using row_writer = std::function<void(const std::string& name, const std::string& value)>;

/// The rows for a turn, a sub-agent or a tool call.
void actor_rows(const json& operation, const row_writer& row, const view& v) {
  const auto& turn = member(operation, "turn");
  if (turn.is_object()) {
    row("agent", printable(text_of(turn, "agent")));
    row("model", printable(text_of(turn, "model")));
    row("message", text_of(turn, "message"));
    if (const auto tool = text_of(turn, "current_tool"); !tool.empty()) row("runs", printable(tool));
    if (const auto calls = number_of(turn, "tool_calls"); calls > 0) row("tools", std::to_string(calls) + " calls");
    row("usage", usage_text(member(turn, "usage")));
    std::string name = "text", text = cut_columns(safe_text(text_of(turn, "text")), 4000, v.characters);
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = std::min(text.find('\n', begin), text.size());
      row(std::exchange(name, ""), text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  const auto& tool = member(operation, "tool");
  if (text_of(operation, "kind") == "sub_agent") row("agent", printable(text_of(operation, "name")));
  if (!tool.is_object()) return;
  row("tool", printable(text_of(operation, "name")));
  row("call", printable(text_of(tool, "call")));
  row("input", cut(printable(to_line(member(tool, "input"))), 2000, v.characters));
  if (const auto& changed = member(tool, "changed"); changed.is_object()) {
    const auto& by = member(changed, "by");
    const auto name = text_of(by, "name");
    row("changed", "by " + printable(name.empty() ? text_of(by, "id") : name) + ", ran with " +
                       cut(printable(to_line(member(changed, "input"))), 2000, v.characters));
  }
  if (member(tool, "exclusive") == true) row("runs", "alone: no other call of the turn beside it");
  if (const auto limit = number_of(tool, "timeout_ms"); limit > 0) row("limit", duration_text(milliseconds{limit}));
  if (const auto rule = text_of(tool, "approval"); !rule.empty())
    row("approval", "asked a human, rule " + printable(rule));
}

std::string described_operation(const json& operation, const view& v) {
  std::string out;
  const auto row = [&](const std::string& name, const std::string& value) {
    if (!value.empty() && value != "-")
      out += name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + value + "\n";
  };
  row("operation", text_of(operation, "id"));
  row("name", operation_name(operation));
  row("status", operation_state(operation, v));
  for (const auto& line : operation_reasons(operation, v)) row("", line);
  row("kind", printable(text_of(operation, "kind")));
  row("scope", printable(text_of(operation, "scope")));
  row("parent", text_of(operation, "parent"));
  if (text_of(operation, "root") != text_of(operation, "id")) row("root", text_of(operation, "root"));
  row("owner", person(member(operation, "owner")));
  std::string labels;
  const auto& marks = member(operation, "labels");
  if (marks.is_object())
    for (const auto& [key, value] : marks.items())
      if (value.is_string()) labels += (labels.empty() ? "" : ", ") + printable(key + "=" + value.get<std::string>());
  row("labels", labels);
  row("worker", printable(text_of(operation, "worker")));
  row("created", instant_and_age(operation, "created_at", v));
  row("started", instant_and_age(operation, "started_at", v));
  row("ended", instant_and_age(operation, "ended_at", v));
  row("elapsed", operation_age(operation, v));
  row("deadline", instant_and_age(operation, "deadline_at", v));
  row("grace", duration_text(milliseconds{number_of(operation, "grace_ms")}));
  const auto& task = member(operation, "task");
  if (task.is_object()) {
    row("command", command_text(member(task, "command")));
    row("directory", printable(text_of(task, "cwd")));
    row("user", printable(text_of(task, "user")));
    std::string limits;
    const auto limit = [&](const std::string& text) { limits += (limits.empty() ? "" : ", ") + text; };
    if (const auto bytes = number_of(task, "memory_bytes"); bytes > 0)
      limit("memory " + size_text(static_cast<std::uint64_t>(bytes)));
    if (const auto pids = number_of(task, "pids"); pids > 0) limit(std::to_string(pids) + " processes");
    if (const auto& cpu = member(task, "cpu"); cpu.is_number()) limit(cpu.dump() + " processors");
    row("limits", limits);
    row("contained", text_of(task, "containment"));
    if (member(task, "pid").is_number()) row("pid", std::to_string(number_of(task, "pid")));
    const auto& output = member(task, "output");
    std::string sizes = "stdout " + size_text(static_cast<std::uint64_t>(number_of(output, "stdout_bytes"))) +
                        ", stderr " + size_text(static_cast<std::uint64_t>(number_of(output, "stderr_bytes")));
    if (const auto dropped = number_of(output, "dropped_bytes"); dropped > 0)
      sizes += ", dropped " + size_text(static_cast<std::uint64_t>(dropped));
    row("output", sizes);
  }
  if (const auto& external = member(operation, "external"); external.is_object()) {
    row("type", printable(text_of(operation, "name")));
    row("session", printable(text_of(external, "session")));
    row("lease",
        number_of(external, "lease_ms") == 0 ? "none" : duration_text(milliseconds{number_of(external, "lease_ms")}));
    row("lease ends", instant_and_age(external, "lease_expires_at", v));
  }
  actor_rows(operation, row, v);
  const auto& exit = member(operation, "exit");
  if (member(exit, "code").is_number()) row("exit", "code " + std::to_string(number_of(exit, "code")));
  if (const auto signal = text_of(exit, "signal"); !signal.empty()) row("exit", "signal " + signal);
  // The result of a turn is its text and usage, already shown above.
  if (!member(operation, "result").is_null() && !member(operation, "turn").is_object())
    row("result", cut(printable(to_line(member(operation, "result"))), 2000, v.characters));
  return out;
}

} // namespace

exit_code execute(session& s, const show_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto id = find_operation(**controller, o.id);
  if (!id) return s.fail(id.error());
  auto operation = (*controller)->get("/v1/operations/" + *id);
  if (!operation) return s.fail(operation.error());
  if (s.json())
    s.print_document(*operation);
  else
    s.print(described_operation(*operation, view_of(s)));
  return exit_code::done;
}

} // namespace quell::cli
