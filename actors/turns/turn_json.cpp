// JSON texts of events and blocks; a model's input goes in as JSON if it is valid, else as text.
#include "actors/turns/turn_json.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/result_json.hpp"
#include "controller/json/json_writer.hpp"
#include "protocol/json_nesting.hpp"

namespace quell::controller::turns {

namespace {

using http::json_writer;
using nlohmann::json;

constexpr std::size_t most_reported_bytes = 64 << 10; ///< of a result in an event

/// False: the block, which quell wrote, has no such key anywhere, and need not be parsed.
bool may_hold(const std::string& block, const char* quoted_key) { return block.find(quoted_key) != std::string::npos; }

/// The block without what only quell needs to know.
json without_hidden(const std::string& block) {
  json shown = json::parse(block, nullptr, false);
  if (!shown.is_object()) return json::object();
  for (const char* hidden : {"by_chat", "account", "client", "context"}) shown.erase(hidden);
  return shown;
}

/// Text that nests too deeply stays text: copying and writing it as a value would overflow the stack.
json json_or_text(const std::string& text) {
  if (json_nesting(text) > most_json_levels) return json(text);
  auto value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

/// The texts of every turn are written front to back, with their members in alphabetical order, as `json_text` does.
void write_usage(json_writer& to, const model_usage& u) {
  to.open_object();
  if (u.cache_written_tokens > 0) to.field("cache_written_tokens", u.cache_written_tokens);
  to.field("cached_input_tokens", u.cached_input_tokens);
  if (u.cost_nanos > 0) to.raw_field("cost", json_text(static_cast<double>(u.cost_nanos) / 1e9));
  if (u.estimated) to.field("estimated", true);
  to.field("input_tokens", u.input_tokens).field("output_tokens", u.output_tokens).close_object();
}

json usage_json(const model_usage& u) {
  json_writer to;
  write_usage(to, u);
  return json::parse(to.take());
}

std::string used_text(const char* by, const std::string& id, const std::string& model, const model_usage& usage) {
  json_writer to;
  const bool is_first = std::string_view(by) < "model";
  to.open_object();
  if (is_first) to.field(by, id);
  to.field("model", model);
  if (!is_first) to.field(by, id);
  write_usage(to.key("usage"), usage);
  to.close_object();
  return to.take();
}

std::string delta_text(std::uint64_t offset, const std::string& text) {
  json_writer to;
  to.open_object().field("offset", offset).field("text", text).close_object();
  return to.take();
}

event_text noted(const model_events::queued& what) {
  return {event_type::model_queued, json_text({{"model", what.model}, {"ahead", what.ahead}})};
}
event_text noted(const model_events::admitted& what) {
  return {event_type::model_asked, json_text({{"model", what.model}, {"waited_ms", what.waited.count()}})};
}
event_text noted(const model_events::fell_back& what) {
  return {event_type::model_fallback,
          json_text({{"from", what.from}, {"to", what.to}, {"code", what.why.code}, {"reason", what.why.detail}})};
}
event_text noted(const model_events::retrying& what) {
  return {event_type::model_retry, json_text({{"model", what.model},
                                              {"attempt", what.attempt},
                                              {"wait_ms", what.after.count()},
                                              {"code", what.code},
                                              {"reason", what.why}})};
}

} // namespace

const char* name_of_stop(model_events::stop why) {
  switch (why) {
  case model_events::stop::length:
    return "length";
  case model_events::stop::refusal:
    return "refusal";
  case model_events::stop::content_filter:
    return "content_filter";
  case model_events::stop::end:
  case model_events::stop::calls:
    break;
  }
  return "end";
}

event_text model_noted(const actors::model_note& what) {
  return std::visit([](const auto& one) { return noted(one); }, what);
}

event_text model_used(const operation_id& call, const std::string& model, const model_usage& usage) {
  return {event_type::model_usage, used_text("operation", call.text(), model, usage)};
}

event_text model_used(const cancel_id& stop, const std::string& model, const model_usage& usage) {
  return {event_type::model_usage, used_text("cancel", stop.text(), model, usage)};
}

event_text thinking_event(std::uint64_t offset, const std::string& text) {
  return {event_type::thinking_delta, delta_text(offset, text)};
}

const char* name_of_reason(actors::abort_reason r) {
  static constexpr std::array names{"user",   "timeout",    "error",       "disconnect",
                                    "parent", "superseded", "interrupted", "budget"};
  return names[static_cast<std::size_t>(r)];
}

std::string turn_block(const message_id& message, const std::string& agent, const std::string& model, bool by_chat,
                       const std::string& context, const std::string& budget) {
  json_writer to;
  to.open_object().field("agent", agent);
  if (!budget.empty()) to.raw_field("budget", budget);
  if (by_chat) to.field("by_chat", true);
  if (!context.empty()) to.field("context", context);
  to.field("message", message).field("model", model).close_object();
  return to.take();
}

std::string context_of(const std::string& block) {
  if (!may_hold(block, R"("context")")) return {};
  const json read = json::parse(block, nullptr, false);
  return read.is_object() && read.contains("context") ? read.value("context", "") : std::string();
}

std::string exchange_block(const std::string& session) { return json_text({{"session", session}}); }

std::string exchange_result(const std::string& transcript, bool was_spoken) {
  return json_text({{"transcript", transcript}, {"spoken", was_spoken}});
}

std::string shown_exchange_block(const std::string& block, const std::string& result) {
  json shown = json::parse(block, nullptr, false);
  if (!shown.is_object()) shown = json::object();
  const json over = json::parse(result, nullptr, false);
  const bool has_result = over.is_object();
  shown["transcript"] = has_result && over.contains("transcript") ? over["transcript"] : json();
  shown["spoken"] = has_result && over.value("spoken", false);
  return json_text(shown);
}

bool is_by_chat(const std::string& block) {
  if (!may_hold(block, R"("by_chat")")) return false;
  const json read = json::parse(block, nullptr, false);
  return read.is_object() && read.contains("by_chat");
}

std::string with_account(const std::string& block, const std::string& account) {
  if (account.empty()) return block;
  json read = json::parse(block, nullptr, false);
  if (!read.is_object()) return block;
  read["account"] = account;
  return json_text(read);
}

std::string account_in(const std::string& block) {
  if (!may_hold(block, R"("account")")) return {};
  const json read = json::parse(block, nullptr, false);
  const auto at = read.is_object() ? read.find("account") : read.end();
  return read.is_object() && at != read.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string call_block(const tool_call& call, bool is_exclusive, milliseconds timeout,
                       const std::string& approval_rule) {
  return json_text({{"call", call.call},
                    {"input", json_or_text(call.input)},
                    {"exclusive", is_exclusive},
                    {"timeout_ms", timeout.count()},
                    {"approval", approval_rule.empty() ? json() : json(approval_rule)}});
}

std::string turn_result(const std::string& text, const model_usage& usage, std::uint64_t tool_calls,
                        std::optional<model_events::stop> stop_reason) {
  json_writer to;
  to.open_object();
  if (stop_reason) to.field("stop_reason", std::string(name_of_stop(*stop_reason)));
  to.field("text", text).field("tool_calls", tool_calls);
  write_usage(to.key("usage"), usage);
  to.close_object();
  return to.take();
}

std::string shown_turn_block(const std::string& block, const std::string& result, const std::optional<turn_now>& live) {
  json shown = without_hidden(block);
  const json over = json::parse(result, nullptr, false);
  const bool has_result = over.is_object();
  shown["text"] = has_result ? over.value("text", "") : live ? live->text : "";
  // The sum of the whole tree, which the core adds when everything below the turn has ended.
  const char* const used = has_result && over.contains("tree") ? "tree" : "usage";
  shown["usage"] = has_result && over.contains(used) ? over[used] : usage_json(live ? live->usage : model_usage{});
  auto& usage = shown["usage"];
  shown["model_calls"] = has_result ? usage.value("model_calls", std::uint64_t{0}) : live ? live->model_calls : 0;
  usage.erase("model_calls");
  shown["current_tool"] = live && !live->current_tool.empty() ? json(live->current_tool) : json();
  shown["stop_reason"] = has_result && over.contains("stop_reason") ? over["stop_reason"] : json();
  shown["model_wait"] = live && !live->model_wait.empty() ? json(live->model_wait) : json();
  if (has_result && over.contains("steered")) shown["steered"] = over["steered"];
  shown["tool_calls"] = has_result ? over.value("tool_calls", std::uint64_t{0}) : live ? live->tool_calls : 0;
  return json_text(shown);
}

event_text turn_started(const operation_id& turn, const std::string& block) {
  json data = without_hidden(block);
  data.erase("budget");
  data.erase("choice");
  data["turn"] = turn.text();
  return {event_type::turn_start, json_text(data)};
}

event_text turn_resumed(std::uint64_t offset) { return {event_type::turn_resumed, json_text({{"offset", offset}})}; }

bool counts_resumes(const std::string& result) { return result.starts_with(R"({"resumes":)"); }

event_text text_event(std::uint64_t offset, const std::string& text) {
  return {event_type::text_delta, delta_text(offset, text)};
}

event_text call_news(const operation_id& call, const tool_call& what, const actors::agent_news& news) {
  if (std::holds_alternative<actors::turn_effects::say_call_started>(news))
    return {event_type::tool_start, json_text({{"call", what.call},
                                               {"name", what.name},
                                               {"input", json_or_text(what.input)},
                                               {"operation", call.text()}})};
  if (const auto* timeout = std::get_if<actors::turn_effects::say_call_timed_out>(&news))
    return {event_type::tool_timeout,
            json_text({{"call", what.call}, {"name", what.name}, {"timeout_ms", timeout->limit.count()}})};
  const auto& result_news = std::get<actors::turn_effects::say_result>(news);
  const bool is_cut = result_news.what.result.size() > most_reported_bytes;
  return {event_type::tool_result,
          json_text({{"call", what.call},
                     {"name", what.name},
                     {"ok", result_news.what.ok},
                     {"cancelled", result_news.what.cancelled},
                     {"duration_ms", result_news.took.count()},
                     {"result", json_or_text(is_cut ? bounded_result(result_news.what.result, most_reported_bytes,
                                                                     result_news.what.ok)
                                                    : result_news.what.result)},
                     {"truncated", is_cut}})};
}

event_text call_running(const tool_call& what, milliseconds elapsed, const std::optional<printing>& so_far) {
  json data = {{"call", what.call}, {"name", what.name}, {"elapsed_ms", elapsed.count()}};
  if (so_far) {
    data["stdout_bytes"] = so_far->stdout_bytes;
    data["stderr_bytes"] = so_far->stderr_bytes;
    data["last_line"] = so_far->last_line;
  }
  return {event_type::tool_progress, json_text(data)};
}

event_text call_progress(const tool_call& what, milliseconds elapsed, const std::string& message, double progress,
                         std::optional<double> total) {
  return {event_type::tool_progress, json_text({{"call", what.call},
                                                {"name", what.name},
                                                {"elapsed_ms", elapsed.count()},
                                                {"message", message.empty() ? json() : json(message)},
                                                {"progress", progress},
                                                {"total", total ? json(*total) : json()}})};
}

event_text call_named(const tool_call& what, const std::string& task) {
  return {event_type::tool_progress, json_text({{"call", what.call},
                                                {"name", what.name},
                                                {"elapsed_ms", 0},
                                                {"message", "the remote agent has begun task " + task},
                                                {"progress", 0},
                                                {"total", json()},
                                                {"remote_task", task}})};
}

std::string task_named_by(const std::string& data) {
  const auto read = json::parse(data, nullptr, false);
  const auto task = read.is_object() ? read.find("remote_task") : read.end();
  return read.is_object() && task != read.end() && task->is_string() ? task->get<std::string>() : std::string();
}

event_text approval_required(const operation_id& call, const tool_call& what, const std::string& rule) {
  return {event_type::approval_required,
          json_text(
              {{"operation", call.text()}, {"name", what.name}, {"input", json_or_text(what.input)}, {"rule", rule}})};
}

event_text approval_resolved(const operation_id& call, approval_outcome how, const records::person& by,
                             const std::string& reason, const std::optional<operation_id>& question,
                             const std::string& input) {
  json data = {{"operation", call.text()},
               {"decision", how == approval_outcome::approved ? "approved" : "denied"},
               {"by", {{"id", by.id}, {"name", by.name}}},
               {"reason", reason}};
  if (question) data["question"] = question->text();
  if (!input.empty()) data["input"] = json_or_text(input);
  return {event_type::approval_resolved, json_text(data)};
}

std::string question_text(const shown_question& question) {
  return json_text({{"id", question.id.text()},
                    {"server", question.server},
                    {"asked_by", question.who == question_source::agent ? "agent" : "server"},
                    {"message", question.message},
                    {"form", json_or_text(question.form)}});
}

event_text question_event(const operation_id& call, const tool_call& what, const shown_question& question) {
  const std::string asking = question.who == question_source::agent ? "agent " : "MCP server ";
  return {event_type::approval_required, json_text({{"operation", call.text()},
                                                    {"name", what.name},
                                                    {"input", json_or_text(what.input)},
                                                    {"rule", "asked by " + asking + question.server},
                                                    {"question", json_or_text(question_text(question))}})};
}

std::string shown_call_block(const std::string& block, const std::string& result) {
  json shown = json::parse(block, nullptr, false);
  const json row = json::parse(result, nullptr, false);
  if (!shown.is_object() || !row.is_object() || !row.contains("asked")) return block;
  shown["question"] = row["asked"];
  return json_text(shown);
}

std::string completed_data(const actors::turn_effects::end& how) {
  json_writer to;
  to.open_object().field("stop_reason", std::string(name_of_stop(how.why))).field("text", how.text);
  write_usage(to.key("usage"), how.usage);
  to.close_object();
  return to.take();
}

} // namespace quell::controller::turns
