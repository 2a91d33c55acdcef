// From the end of a task to the result for the model.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/tool_task.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

std::string how_it_ended(const exit_state& exit) {
  if (exit.signal) return "was ended by signal " + *exit.signal;
  if (exit.code) return "ended with code " + std::to_string(*exit.code);
  return "ended";
}

/// `exit_code` or `signal`, and the bounded streams.
json exit_facts(const exit_state& exit, const std::string& out, const std::string& err, std::uint64_t dropped_bytes) {
  bool cut = dropped_bytes > 0;
  json facts = json::object();
  if (exit.signal) {
    facts["signal"] = *exit.signal;
  } else {
    facts["exit_code"] = exit.code ? json(*exit.code) : json();
  }
  facts["stdout"] = bounded_text(out, most_stream_bytes, cut);
  facts["stderr"] = bounded_text(err, most_stream_bytes, cut);
  facts["truncated"] = cut;
  return facts;
}

bool has_succeeded(const exit_state& exit) { return !exit.signal && exit.code == 0; }

call_outcome exec_outcome(const exit_state& exit, const std::string& out, const std::string& err,
                          std::uint64_t dropped_bytes, const std::string& note) {
  const bool ok = has_succeeded(exit);
  auto facts = exit_facts(exit, out, err, dropped_bytes);
  if (!note.empty()) facts["note"] = note;
  return {ok, bounded_result(json_text({{"ok", ok}, {"result", std::move(facts)}}), most_result_bytes, ok)};
}

call_outcome broken(const tool_definition& tool, const exit_state& exit, const std::string& err) {
  bool cut = false;
  auto message = tool.offer.name + " " + how_it_ended(exit) + " without an answer that can be read";
  if (exit.code == 127 || exit.code == 126) message += "; quell-tool may be missing from the worker's PATH";
  if (!err.empty()) message += ": " + bounded_text(err, 1000, cut);
  return {false, json_result_texts().failed(failure_code::tool_broken, message)};
}

/// quell-tool's own answer.
call_outcome answer_of(const tool_definition& tool, const exit_state& exit, const std::string& out,
                       const std::string& err) {
  if (!has_succeeded(exit)) return broken(tool, exit, err);
  bool deep = false;
  const auto answer = json::parse(
      out,
      [&](int depth, json::parse_event_t, json&) {
        deep = deep || depth > 64;
        return !deep;
      },
      false);
  if (deep || answer.is_discarded() || !answer.is_object()) return broken(tool, exit, err);
  const auto ok = answer.find("ok");
  if (ok == answer.end() || !ok->is_boolean() || !answer.contains(ok->get<bool>() ? "result" : "error"))
    return broken(tool, exit, err);
  return {ok->get<bool>(), bounded_result(json_text(answer), most_result_bytes, ok->get<bool>())};
}

} // namespace

call_outcome call_outcome_of(const tool_definition& tool, const exit_state& exit, const std::string& out,
                             const std::string& err, std::uint64_t dropped_bytes, const std::string& note) {
  return tool.offer.name == "exec" ? exec_outcome(exit, out, err, dropped_bytes, note)
                                   : answer_of(tool, exit, out, err);
}

std::string note_of_left(std::uint32_t total, const std::vector<process_view>& first) {
  constexpr std::size_t most_reported = 8, most_bytes = 60;
  if (total == 0) return {};
  std::string text = total == 1 ? "1 process that the command left running was killed: "
                                : std::to_string(total) + " processes that the command left running were killed: ";
  const auto shown_count = std::min(most_reported, first.size());
  for (std::size_t i = 0; i < shown_count; ++i) {
    bool cut = false;
    const auto& p = first[i];
    const auto shown = p.command.size() > most_bytes ? p.command.substr(0, most_bytes) + "…" : p.command;
    text += (i == 0 ? "" : ", ") + bounded_text(shown, 4 * most_bytes, cut) + " (pid " + std::to_string(p.pid) + ")";
  }
  if (total > shown_count) text += (shown_count > 0 ? " and " : "") + std::to_string(total - shown_count) + " more";
  return text + "; use background: true to keep work running";
}

call_outcome mcp_outcome_of(bool ok, const std::string& answer) {
  if (ok) return {true, bounded_result(ok_result(answer), most_result_bytes, true)};
  const auto whole = json::parse(answer, nullptr, false);
  std::string message;
  if (const auto content = whole.is_object() ? whole.find("content") : whole.end();
      whole.is_object() && content != whole.end() && content->is_array())
    for (const auto& part : *content)
      if (part.is_object() && part.value("type", json()) == "text" && part.contains("text") && part["text"].is_string())
        message += (message.empty() ? "" : "\n") + part["text"].get_ref<const std::string&>();
  bool cut = false;
  if (message.empty()) message = "the tool failed, and does not say why: " + answer;
  return {false, json_result_texts().failed(failure_code::tool_failed, bounded_text(message, most_stream_bytes, cut))};
}

call_outcome command_outcome_of(const agent_settings& agent, const exit_state& exit, const std::string& out,
                                const std::string& err, std::uint64_t dropped_bytes) {
  const bool ok = has_succeeded(exit);
  auto result = exit_facts(exit, out, err, dropped_bytes);
  result["agent"] = agent.name;
  return {ok, bounded_result(json_text({{"ok", ok}, {"result", std::move(result)}}), most_result_bytes, ok)};
}

} // namespace quell::controller::turns
