// The mapping of a turn's state, and the JSON of tasks.
#include "gateway/a2a/task.hpp"

#include <array>

#include "controller/json/instant.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::ordered_json;

constexpr auto state_names =
    std::to_array<std::string_view>({"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED",
                                     "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_INPUT_REQUIRED"});

std::string because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

std::string counted(std::uint64_t n, const char* what) {
  return std::to_string(n) + (n == 1 ? " operation " : " operations ") + what;
}

task_status ended_by_stop(const task_facts& facts) {
  if (!facts.stop) return {task_state::failed, "cancelled, and what became of its work is not known"};
  const auto& stop = *facts.stop;
  if (!stop.is_settled)
    return {task_state::working, "stopping" + because(stop.reason) + "; waiting for the proof that all of it is gone"};
  if (stop.is_proven()) return {task_state::canceled, "cancelled" + because(stop.reason)};
  std::string what;
  if (stop.unconfirmed > 0) what = counted(stop.unconfirmed, "did not confirm the stop");
  if (stop.declared > 0)
    what += (what.empty() ? "" : ", ") + counted(stop.declared, "is only declared to be gone by an admin");
  if (stop.left > 0) what += (what.empty() ? "" : ", ") + counted(stop.left, "detached from it did not end with it");
  return {task_state::failed, "cancelled" + because(stop.reason) + "; outcome unknown: " + what};
}

ordered_json text_parts(const std::string& text) { return ordered_json::array({{{"text", text}}}); }

ordered_json status_json(const task_facts& facts, task_state state, const std::string& words) {
  ordered_json shown = {{"state", name_of_state(state)}};
  if (!words.empty())
    shown["message"] = {{"messageId", facts.id.text() + ":" + std::string(name_of_state(state))},
                        {"contextId", facts.context},
                        {"taskId", facts.id.text()},
                        {"role", "ROLE_AGENT"},
                        {"parts", text_parts(words)}};
  shown["timestamp"] = instant_text(facts.at);
  return shown;
}

/// Facts that A2A has no word for.
ordered_json metadata_of(const task_facts& facts) {
  ordered_json own = {{"scope", facts.scope}, {"status", name_of(facts.now)}};
  if (facts.stop) {
    const auto& stop = *facts.stop;
    const bool is_settled = is_terminal(facts.now) && stop.is_settled;
    own["stop"] = {{"cause", name_of(stop.cause)},
                   {"cancel", stop.cancel ? ordered_json(stop.cancel->text()) : ordered_json()},
                   {"settled", is_settled},
                   {"proven", is_settled && stop.is_proven()},
                   {"unconfirmed", stop.unconfirmed},
                   {"declared", stop.declared},
                   {"detached", stop.left}};
  }
  if (!facts.error_code.empty()) own["error"] = {{"code", facts.error_code}, {"message", facts.error_message}};
  return {{"quell", std::move(own)}};
}

ordered_json answer_artifact(const std::string& text) {
  return {{"artifactId", "answer"}, {"name", "answer"}, {"parts", text_parts(text)}};
}

ordered_json update_of(const task_facts& facts) { return {{"taskId", facts.id.text()}, {"contextId", facts.context}}; }

} // namespace

std::string_view name_of_state(task_state s) { return state_names[static_cast<std::size_t>(s)]; }

std::optional<task_state> parse_state(std::string_view name) {
  for (std::size_t i = 0; i < state_names.size(); ++i)
    if (state_names[i] == name) return static_cast<task_state>(i);
  return std::nullopt;
}

task_status status_of(const task_facts& facts) {
  switch (facts.now) {
  case status::pending:
    return {task_state::submitted, ""};
  case status::running:
    if (!facts.asks.empty()) return {task_state::input_required, facts.asks.front().words};
    return {task_state::working, ""};
  case status::paused:
    return {task_state::working, "waits for a human's decision"};
  case status::cancelling:
    return {task_state::working, "stopping" + because(facts.stop ? facts.stop->reason : "")};
  case status::completed:
    return {task_state::completed, ""};
  case status::failed:
    return {task_state::failed, facts.error_code +
                                    (facts.error_code.empty() || facts.error_message.empty() ? "" : ": ") +
                                    facts.error_message};
  case status::cancelled:
    return ended_by_stop(facts);
  }
  return {task_state::failed, "unknown"};
}

std::string words_of_question(const std::string& message, const nlohmann::json& form) {
  std::string choices;
  const nlohmann::json::json_pointer list("/properties/answer/enum");
  if (form.contains(list) && form.at(list).is_array())
    for (const auto& one : form.at(list))
      if (one.is_string()) choices += (choices.empty() ? "" : ", ") + one.get<std::string>();
  return message + (choices.empty() ? "" : " (one of: " + choices + ")");
}

ordered_json task_json(const task_facts& facts, artifacts answer) {
  const auto now = status_of(facts);
  ordered_json task = {
      {"id", facts.id.text()}, {"contextId", facts.context}, {"status", status_json(facts, now.state, now.words)}};
  if (answer == artifacts::shown) {
    task["artifacts"] = ordered_json::array();
    if (!facts.text.empty()) task["artifacts"].push_back(answer_artifact(facts.text));
  }
  task["metadata"] = metadata_of(facts);
  return task;
}

ordered_json status_update(const task_facts& facts) {
  const auto now = status_of(facts);
  auto update = update_of(facts);
  update["status"] = status_json(facts, now.state, now.words);
  update["metadata"] = metadata_of(facts);
  return {{"statusUpdate", std::move(update)}};
}

ordered_json working_update(const task_facts& facts, const std::string& words, ordered_json metadata) {
  auto update = update_of(facts);
  update["status"] = status_json(facts, task_state::working, words);
  if (!metadata.empty()) update["metadata"] = {{"quell", std::move(metadata)}};
  return {{"statusUpdate", std::move(update)}};
}

ordered_json artifact_update(const task_facts& facts, const std::string& text, artifact_part which) {
  auto update = update_of(facts);
  update["artifact"] = answer_artifact(text);
  update["append"] = which == artifact_part::appended;
  update["lastChunk"] = which == artifact_part::whole;
  return {{"artifactUpdate", std::move(update)}};
}

ordered_json agent_message(const std::string& id, const std::string& context, const std::string& text) {
  return {{"messageId", id}, {"contextId", context}, {"role", "ROLE_AGENT"}, {"parts", text_parts(text)}};
}

} // namespace quell::controller::http::a2a
