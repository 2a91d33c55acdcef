// One call's input: parsed, stripped of `_meta`, checked.
#include "actors/turns/tool_input.hpp"

#include <nlohmann/json.hpp>

#include "actors/turns/approval.hpp"
#include "actors/turns/schema.hpp"
#include "protocol/nearest.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr int most_depth = 64;
constexpr std::int64_t longest_ms = 7LL * 24 * 3600 * 1000;

tl::unexpected<fault> wrong_input(const tool_definition& tool, const std::string& what, std::string pointer = {}) {
  return failure(failure_code::invalid_input, "the input of " + tool.offer.name + " is wrong: " + what,
                 std::move(pointer));
}

result<json> parsed_input(const tool_definition& tool, const std::string& text) {
  if (text.size() > most_input_bytes)
    return wrong_input(tool, "it has " + std::to_string(text.size()) + " bytes; at most " +
                                 std::to_string(most_input_bytes) + " are taken. Split it into several calls");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return json::object();
  if (!is_utf8(text)) return wrong_input(tool, "it is not valid UTF-8");
  bool deep = false;
  try {
    auto value = json::parse(text, [&](int depth, json::parse_event_t, json&) {
      deep = deep || depth > most_depth;
      return !deep;
    });
    if (deep) return wrong_input(tool, "it is nested deeper than " + std::to_string(most_depth) + " levels");
    if (!value.is_object()) return wrong_input(tool, std::string("it must be a JSON object, not ") + value.type_name());
    return value;
  } catch (const json::parse_error& e) {
    if (deep) return wrong_input(tool, "it is nested deeper than " + std::to_string(most_depth) + " levels");
    return wrong_input(tool, "it is not JSON (at byte " + std::to_string(e.byte) + "); write one JSON object");
  } catch (const json::exception&) {
    return wrong_input(tool, "it is not JSON; write one JSON object");
  }
}

/// Removes `_meta.timeout`, and for a built-in tool all of `_meta`.
result<std::optional<milliseconds>> take_timeout(const tool_definition& tool, json& input) {
  const auto meta = input.find("_meta");
  if (meta == input.end()) return std::nullopt;
  std::optional<milliseconds> requested_timeout;
  if (meta->is_object()) {
    if (const auto time = meta->find("timeout"); time != meta->end() && !time->is_null()) {
      if (!time->is_number_unsigned() || time->get<std::uint64_t>() > static_cast<std::uint64_t>(longest_ms))
        return wrong_input(tool, "`_meta.timeout` must be a whole number of milliseconds, at most 7 days; 0 = none");
      requested_timeout = milliseconds{time->get<std::int64_t>()};
    }
    meta->erase("timeout");
  }
  if (tool.how != tool_definition::runs::mcp || !meta->is_object() || meta->empty()) input.erase("_meta");
  return requested_timeout;
}

/// Many models write `null` for "nothing".
void drop_nulls(json& input) {
  for (auto at = input.begin(); at != input.end();) at = at->is_null() ? input.erase(at) : std::next(at);
}

/// A command in the background has only a limit that was asked for; the call itself only starts it.
void limit_background(call_input& of, const tool_definition& exec, bool was_requested) {
  constexpr milliseconds to_start{120'000};
  of.task_timeout = was_requested ? of.timeout : exec.most_timeout;
  of.timeout = to_start;
}

/// Errors that a schema cannot express.
std::string wrong_exec(const json& input) {
  if (input.contains("command") == input.contains("argv")) return "give either `command` or `argv`";
  if (const auto time = input.find("timeout_ms"); time != input.end() && time->get<double>() > double(longest_ms))
    return "`timeout_ms` must be at most 7 days";
  return {};
}

} // namespace

result<call_input> read_input(const tool_definition& tool, const std::string& input_json) {
  auto input = parsed_input(tool, input_json);
  if (!input) return tl::unexpected(input.error());
  const auto requested_timeout = take_timeout(tool, *input);
  if (!requested_timeout) return tl::unexpected(requested_timeout.error());
  const bool is_ours = tool.how != tool_definition::runs::mcp;
  if (is_ours) drop_nulls(*input);
  const auto schema = json::parse(tool.offer.input_schema, nullptr, false);
  if (!schema.is_discarded())
    if (auto why = error_by_schema(sanitized_schema(schema), *input); !why.sentence.empty())
      return wrong_input(tool, why.sentence, std::move(why.pointer));
  call_input out;
  out.timeout = tool.timeout;
  if (is_ours && tool.offer.name == "exec") {
    if (const auto why = wrong_exec(*input); !why.empty()) return wrong_input(tool, why);
    if (const auto time = input->find("timeout_ms"); time != input->end())
      out.timeout = milliseconds{time->get<std::int64_t>()};
  }
  if (*requested_timeout) out.timeout = **requested_timeout;
  if (tool.most_timeout.count() > 0 && (out.timeout.count() == 0 || out.timeout > tool.most_timeout))
    out.timeout = tool.most_timeout;
  if (is_ours && tool.offer.name == "exec" && input->value("background", false))
    limit_background(out, tool, requested_timeout->has_value() || input->contains("timeout_ms"));
  out.json = input->dump(-1, ' ', false, json::error_handler_t::replace);
  return out;
}

std::optional<fault> check_input(const tool_definition& tool, const std::string& input_json) {
  auto read = read_input(tool, input_json);
  if (read) return std::nullopt;
  return read.error();
}

actors::tool_traits traits_of(const tool_set& tools, const std::vector<approval_rule>& approvals,
                              const tool_call& call) {
  actors::tool_traits t;
  const auto* tool = tools.find(call.name);
  if (!tool) {
    std::vector<std::string> names;
    for (const auto& one : tools.tools) names.push_back(one.offer.name);
    t.unusable = failure_of(
        failure_code::unknown_tool,
        "there is no tool " + call.name.substr(0, 128) +
            (names.empty() ? "; this agent has none"
                           : "; the nearest one is " + nearest(call.name, names) + ", there are " + listed(names)));
    return t;
  }
  t.exclusive = tool->exclusive;
  t.timeout = tool->timeout;
  auto read = read_input(*tool, call.input);
  if (!read) {
    t.unusable = std::move(read.error());
    return t;
  }
  t.timeout = read->timeout;
  const auto* rule = deciding_rule(approvals, call.name, read->json);
  if (rule && rule->denies)
    t.unusable = failure_of(failure_code::denied,
                            "the rule " + rule_text(*rule) + " denies this call, and nobody can approve it");
  else if (rule)
    t.approval_rule = rule_text(*rule);
  return t;
}

} // namespace quell::controller::turns
