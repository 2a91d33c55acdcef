// The answers of calls in words.
#include "cli/mcp/words.hpp"

#include <algorithm>

#include "cli/columns.hpp"
#include "cli/duration.hpp"
#include "cli/fields.hpp"
#include "cli/output_line.hpp"
#include "cli/report.hpp"
#include "cli/short_id.hpp"
#include "cli/terminal.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli::mcp {
namespace {

constexpr std::size_t most_reason = 500;
constexpr std::size_t most_name = 120;
/// The room for a task's output in an answer after a name, a reason and a hint.
constexpr std::size_t most_output = 1600;

std::string call(const char* tool, const std::string& id) {
  return std::string(tool) + " {\"id\": \"" + short_id(id) + "\"}";
}

std::string next_line(const json& operation) {
  const auto id = text_of(operation, "id");
  const bool has_output = text_of(operation, "kind") == "task";
  if (!is_over(operation))
    return "Next: " + call("quell_wait", id) + " for its end" +
           (has_output ? ", " + call("quell_output", id) + " for what it prints" : "") + ", " +
           call("quell_cancel", id) + " to stop it.";
  if (!has_output) return {};
  const auto& output = member(member(operation, "task"), "output");
  const auto out = number_of(output, "stdout_bytes"), err = number_of(output, "stderr_bytes");
  if (out + err == 0) return "It printed nothing.";
  return "It printed " + size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(out, 0))) + " on stdout and " +
         size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(err, 0))) +
         " on stderr. Next: " + call("quell_output", id) + (err > 0 ? ", also with \"stream\": \"stderr\"" : "") + ".";
}

std::string reasons(const json& operation, const view& v) {
  std::string out;
  for (const auto& line : operation_reasons(operation, v)) out += line + "\n";
  return out;
}

std::string lines_of(const json& operation, const view& v, const std::string& first, bool by_user) {
  std::string out;
  if (by_user) out = cancelled_by_user(text_of(member(operation, "stop"), "reason")) + "\n";
  out += first + "\n" + reasons(operation, v);
  const auto next = next_line(operation);
  // The hint must not be cut by a long reason.
  return next.empty() ? clipped(out) : clipped(out, most_characters - code_points(next) - 1) + "\n" + next;
}

std::string without_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

} // namespace

bool is_over(const json& operation) {
  const auto status = text_of(operation, "status");
  return status == "completed" || status == "failed" || status == "cancelled";
}

std::string clipped(std::string_view text, std::size_t most) {
  std::string whole =
      without_end(is_utf8(text) ? std::string(text) : json::parse(to_line(std::string(text))).get<std::string>());
  if (code_points(whole) <= most) return whole;
  return whole.substr(0, bytes_of_characters(whole, most - 1)) + "…";
}

std::string cancelled_by_user(std::string_view reason) {
  std::string why = clipped(one_line(reason), most_reason);
  while (why.ends_with('.')) why.pop_back();
  return "Cancelled by user: " + (why.empty() ? "no reason given" : why) +
         ". Do not start this work again unless the user asks.";
}

std::string stopped_text(std::string_view cause, std::string_view reason) {
  if (cause == "cancel" || cause.empty()) return cancelled_by_user(reason);
  const std::string why = cause == "parent_ended" ? "the operation that this server belongs to has ended"
                          : cause == "timeout"    ? "the time of this server's operation is over"
                          : cause == "superseded" ? "newer work has taken its place"
                          : cause == "drain"      ? "the swarm is being shut down"
                                                  : std::string(cause);
  // Work that was started here can still be dying.
  return "Being stopped: " + why + ". Do not start this work again unless the user asks.";
}

std::string headline(const json& operation, const view& v) {
  const auto worker = printable(text_of(operation, "worker"));
  return short_id(text_of(operation, "id")) + " " + operation_state(operation, v) + " " +
         (is_over(operation) ? "after " : "") + operation_age(operation, v) + ": " +
         cut(one_line(operation_name(operation)), most_name, character_set::utf8) +
         (worker.empty() ? "" : " (on " + worker + ")");
}

std::string run_text(const json& operation, const view& v, bool by_user) {
  return lines_of(operation, v, (is_over(operation) ? "" : "Started ") + headline(operation, v), by_user);
}

std::string wait_text(const json& operation, const view& v, bool by_user) {
  return lines_of(operation, v, (is_over(operation) ? "" : "Not ended yet: ") + headline(operation, v), by_user);
}

std::string show_text(const json& operation, const view& v) {
  std::string first = headline(operation, v) + "\n" + printable(text_of(operation, "kind")) + " in scope " +
                      printable(text_of(operation, "scope")) + ", created " +
                      instant_and_age(operation, "created_at", v);
  if (const auto parent = text_of(operation, "parent"); !parent.empty()) first += ", below " + short_id(parent);
  if (const auto command = command_text(member(member(operation, "task"), "command")); !command.empty())
    first += "\ncommand: " + command;
  return lines_of(operation, v, first, false);
}

std::string list_text(const json& operations, const view& v, bool has_more) {
  if (!operations.is_array() || operations.empty()) return "Nothing. Next: quell_run starts something.";
  constexpr std::size_t room = most_characters - 160;
  std::string out;
  std::size_t taken = 0, shown = 0;
  for (const auto& operation : operations) {
    const auto line = clipped(headline(operation, v) + "\n", 300) + "\n";
    taken += code_points(line);
    if (taken > room) break;
    out += line;
    ++shown;
  }
  if (shown < operations.size() || has_more)
    out += "(" + std::to_string(shown) + " shown, newest first; there are more: ask with status or limit)\n";
  return clipped(out + "Next: quell_show, quell_output or quell_cancel with one of these ids.");
}

void keep_whole_characters(output_tail& tail) {
  const std::size_t begin = tail.offset > 0 ? character_boundary(std::string_view(tail.bytes).substr(0, 3), 0) : 0;
  auto bytes = tail.bytes.substr(begin);
  if (!tail.end) bytes.resize(bytes.size() - cut_character(bytes));
  if (!is_utf8(bytes)) return; // not text: every byte counts
  tail.offset += begin;
  tail.bytes = std::move(bytes);
}

json output_shape(const output_tail& tail) {
  auto out = output_line(tail.operation, tail.stream, tail.offset, tail.bytes);
  out.update({{"end", tail.end}, {"dropped_bytes", tail.dropped_bytes}});
  return out;
}

std::string output_text(const output_tail& tail) {
  const auto id = short_id(tail.operation);
  const std::string next = tail.end ? "" : "\nIt may print more. Next: " + call("quell_wait", tail.operation) + ".";
  if (tail.bytes.empty()) return tail.stream + " of " + id + " is empty" + (tail.end ? "." : " so far.") + next;
  if (!is_utf8(tail.bytes))
    return tail.stream + " of " + id + " is not text: its last " + std::to_string(tail.bytes.size()) +
           " bytes are in structuredContent.base64." + next;
  std::string shown = safe_text(tail.bytes);
  std::size_t from = 0;
  auto left = code_points(shown);
  for (; left > most_output; ++from)
    if (from + 1 < shown.size() && !continues_character(shown[from + 1])) --left;
  // Whole lines are easier to read than the rest of one.
  if (const auto line = shown.find('\n', from); from > 0 && line != std::string::npos && line - from < 200)
    from = line + 1;
  const bool is_cut = from > 0 || tail.offset > 0;
  std::string head = tail.stream + " of " + id + (is_cut ? ", its end (of " : " (") +
                     size_text(tail.offset + tail.bytes.size()) + " in all";
  if (tail.dropped_bytes > 0) head += ", " + size_text(tail.dropped_bytes) + " not kept";
  return clipped(head + "):\n" + shown.substr(from), most_characters - code_points(next)) + next;
}

std::string cancel_text(const json& cancel, const view& v) {
  if (member(cancel, "dry_run") == true)
    return clipped(dry_run_text(cancel, v, 0) + "Next: the same without dry_run stops it.");
  const auto target = text_of(member(cancel, "target"), "operation");
  const bool settled = text_of(cancel, "status") == "settled";
  const std::string next =
      settled ? "" : "\nNot proven yet; nothing more needs to be done. Next: " + call("quell_wait", target) + ".";
  return clipped(report_text(cancel, v), most_characters - code_points(next)) + next;
}

std::string cancels_text(const std::vector<json>& cancels, const view& v, bool is_dry_run) {
  if (cancels.empty()) return "Nothing that you started here is live: nothing to stop.";
  std::int64_t operations = 0;
  std::size_t proven = 0, open = 0, late = 0;
  std::string lines;
  for (const auto& cancel : cancels) {
    const auto& report = member(cancel, "report");
    operations += number_of(report, "operations");
    // Work that had ended before is not covered: this report proves nothing about how it ended.
    if (text_of(cancel, "outcome") == "already_finished")
      ++late;
    else if (text_of(cancel, "status") != "settled")
      ++open;
    else if (member(report, "proven") == true)
      ++proven;
    if (!is_dry_run) lines += progress_text(cancel, v) + "\n";
    if (is_dry_run)
      for (const auto& operation : member(member(cancel, "would_stop"), "operations"))
        lines += headline(operation, v) + "\n";
  }
  const auto all = std::to_string(operations) + (operations == 1 ? " operation" : " operations");
  if (is_dry_run) return clipped("Would stop " + all + " (nothing was done):\n" + lines);
  std::string head = open > 0
                         ? "Stopping " + all + "; " + std::to_string(open) + " of " + std::to_string(cancels.size()) +
                               " not proven yet. Next: quell_list {\"status\": \"live\"}."
                     : late == cancels.size()          ? "All of it had ended before; nothing was stopped."
                     : proven + late == cancels.size() ? "Stopped, proven: " + all + "."
                                                       : "Settled, not all proven: " + all + ".";
  return clipped(head + "\n" + lines);
}

} // namespace quell::cli::mcp
