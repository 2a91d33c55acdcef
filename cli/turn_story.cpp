// Interprets the events of a turn.
#include "cli/turn_story.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/columns.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/turn_view.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli {

using nlohmann::json;

namespace {

constexpr std::size_t most_remembered = 20'000; ///< nodes of one turn's tree

std::string key_of(const json& event) {
  return text_of(event, "operation") + " " + text_of(member(event, "data"), "call");
}

} // namespace

void turn_story::say(std::uint64_t offset, const std::string& text) {
  const auto length = code_points(text);
  if (offset + length <= shown_) return;
  const auto fresh = offset < shown_ ? std::string(without_characters(text, shown_ - offset)) : text;
  shown_ = offset + length;
  if (!fresh.empty() && to_.text) to_.text(fresh);
}

/// The text behind the offset is said anew. Printed text stays, so the new text begins on a line of its own.
void turn_story::resumed(std::uint64_t offset) {
  if (shown_ > offset && to_.text) to_.text("\n");
  shown_ = std::min(shown_, offset);
  if (to_.noted) to_.noted("quelld was restarted, and the turn goes on");
}

void turn_story::created(const json& operation, const std::string& turn) {
  const auto kind = text_of(operation, "kind"), id = text_of(operation, "id"), parent = text_of(operation, "parent");
  if (kind == "model_call" && parent == turn && to_.next_answer) to_.next_answer();
  if ((kind != "sub_agent" && kind != "tool_call") || parents_.size() >= most_remembered) return;
  parents_[id] = parent;
  if (kind == "sub_agent") is_sub_agent_[id] = true;
  const auto& tool = member(operation, "tool");
  if (kind == "tool_call")
    whats_[parent + " " + text_of(tool, "call")] = call_text(text_of(operation, "name"), member(tool, "input"));
}

std::size_t turn_story::depth_of(const std::string& agent) const {
  std::size_t depth = 0;
  auto at = parents_.find(agent);
  for (std::size_t steps = 0; at != parents_.end() && steps < 64; ++steps) {
    if (is_sub_agent_.contains(at->first)) ++depth;
    at = parents_.find(at->second);
  }
  return depth;
}

void turn_story::tool_start(const json& event) {
  const auto& data = member(event, "data");
  tool_in_flight tool;
  tool.key = key_of(event);
  for (const auto& known : tools_)
    if (known.key == tool.key) return;
  tool.operation = text_of(data, "operation");
  tool.name = printable(text_of(data, "name"));
  tool.what = call_text(text_of(data, "name"), member(data, "input"));
  tool.depth = depth_of(text_of(event, "operation"));
  tool.since = instant_of(event, "at").value_or(wall_now());
  tools_.push_back(tool);
  if (to_.tool_started) to_.tool_started(tool);
}

/// A call that still runs: `tool_output` or `tool_progress`.
void turn_story::tool_running(const json& event) {
  constexpr std::size_t most_lines = 20, most_columns = 200;
  const auto found =
      std::find_if(tools_.begin(), tools_.end(), [&](const auto& tool) { return tool.key == key_of(event); });
  if (found == tools_.end()) return;
  const auto& data = member(event, "data");
  const bool is_output = type_of(event) == event_type::tool_output;
  const auto text = is_output ? text_of(data, "text") : text_of(data, "last_line");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find_first_of("\r\n", at), text.size());
    if (end > at) lines.push_back(cut_columns(one_line(text.substr(at, end - at)), most_columns, character_set::utf8));
    at = end + 1;
  }
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  if (!lines.empty()) found->line = lines.back();
  if (is_output && !lines.empty() && to_.tool_printed) to_.tool_printed(*found, lines);
  if (!is_output && to_.tool_still_runs)
    to_.tool_still_runs(*found, milliseconds{static_cast<std::int64_t>(number_of(data, "elapsed_ms"))});
}

void turn_story::tool_result(const json& event) {
  const auto& data = member(event, "data");
  const auto found =
      std::find_if(tools_.begin(), tools_.end(), [&](const auto& tool) { return tool.key == key_of(event); });
  tool_ending ending;
  const auto what = whats_.find(key_of(event));
  ending.what = found != tools_.end()  ? found->what
                : what != whats_.end() ? what->second
                                       : printable(text_of(data, "name"));
  ending.outcome = outcome_text(data);
  ending.took = milliseconds{number_of(data, "duration_ms")};
  ending.depth = found == tools_.end() ? depth_of(text_of(event, "operation")) : found->depth;
  ending.ok = member(data, "ok") == true;
  ending.cancelled = member(data, "cancelled") == true;
  if (ending.cancelled && ending.depth == 0) interrupted_.push_back(printable(text_of(data, "name")));
  if (found != tools_.end()) tools_.erase(found);
  if (to_.tool_ended) to_.tool_ended(ending);
}

void turn_story::approval(const json& event) {
  const auto& data = member(event, "data");
  const auto& question = member(data, "question");
  const auto id = question.is_object()   ? text_of(question, "id")
                  : question.is_string() ? question.get<std::string>()
                                         : text_of(data, "operation");
  const auto found =
      std::find_if(approvals_.begin(), approvals_.end(), [&](const auto& open) { return open.key() == id; });
  if (type_of(event) == event_type::approval_required) {
    if (found != approvals_.end()) return;
    open_approval open{text_of(data, "operation"), call_text(text_of(data, "name"), member(data, "input")),
                       one_line(text_of(data, "rule"))};
    if (question.is_object()) {
      open.question = id;
      open.message = one_line(text_of(question, "message"));
      open.lines = question_lines(question);
      open.commands = answer_commands(open.operation, question);
      open.is_agents = text_of(question, "asked_by") == "agent";
      if (open.is_agents)
        open.commands.insert(open.commands.begin(),
                             "quell say --scope " + printable(text_of(event, "scope")) + " TEXT");
    }
    approvals_.push_back(std::move(open));
    if (to_.on_approval) to_.on_approval(approvals_.back());
    return;
  }
  if (found == approvals_.end()) return;
  const auto open = *found;
  approvals_.erase(found);
  if (to_.answered) to_.answered(open, text_of(data, "decision"), person(member(data, "by")));
}

void turn_story::take(const json& event, const std::string& turn) {
  const auto type = type_of(event);
  const auto operation = text_of(event, "operation");
  const auto& data = member(event, "data");
  const bool is_ours = operation == turn;
  if (type == event_type::operation_created) return created(data, turn);
  if (type == event_type::tool_start) return tool_start(event);
  if (type == event_type::tool_output || type == event_type::tool_progress) return tool_running(event);
  if (type == event_type::tool_result) return tool_result(event);
  if (type == event_type::approval_required || type == event_type::approval_resolved) return approval(event);
  if (type == event_type::operation_cancelling || type == event_type::operation_cancelled ||
      type == event_type::operation_failed)
    // A stop closes the question, even if no event says so.
    std::erase_if(approvals_, [&](const auto& open) { return open.operation == operation; });
  if (!is_ours) return;
  if (type == event_type::text_delta) say(static_cast<std::uint64_t>(number_of(data, "offset")), text_of(data, "text"));
  if (type == event_type::turn_resumed) resumed(static_cast<std::uint64_t>(number_of(data, "offset")));
  if (const auto words = model_words(event); !words.empty() && to_.noted) to_.noted(words);
  if ((type == event_type::turn_start || type == event_type::operation_started) && !started_) {
    started_ = true;
    if (to_.started) to_.started();
  }
  if (type == event_type::turn_complete) over_ = true;
  if (const auto turn = text_of(data, "steered"); type == event_type::turn_complete && !turn.empty() && to_.noted)
    to_.noted("turn " + short_id(printable(turn)) + ", which runs, is told of it");
  if (type == event_type::turn_abort && !over_) {
    over_ = true;
    auto reason = text_of(data, "reason");
    if (const auto& left = member(data, "still_running"); left.is_array() && !left.empty())
      reason += ", in the background still runs:";
    for (const auto& id : member(data, "still_running"))
      if (id.is_string()) reason += " " + short_id(printable(id.get<std::string>()));
    if (to_.aborted) to_.aborted(reason);
  }
}

void turn_story::end(const json& operation) {
  over_ = true;
  say(0, text_of(member(operation, "turn"), "text"));
  tools_.clear();
  approvals_.clear();
}

} // namespace quell::cli
