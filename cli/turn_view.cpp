// Turns in words.
#include "cli/turn_view.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/columns.hpp"
#include "cli/duration.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/short_id.hpp"
#include "cli/terminal.hpp"
#include "protocol/stop_signs.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr std::size_t most_input = 160;
constexpr std::size_t most_reason = 160;
constexpr std::size_t most_of_old_message = 600;

std::string counted(std::int64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

} // namespace

std::string input_text(const json& input) {
  constexpr std::array telling{"command", "argv", "path", "url", "task", "query", "pattern", "text", "message"};
  std::string out;
  for (const char* key : telling) {
    const auto& value = member(input, key);
    if (value.is_string()) out = one_line(value.get<std::string>());
    if (value.is_array()) out = command_text(value);
    if (!out.empty()) break;
  }
  if (out.empty() && input.is_string()) out = one_line(input.get<std::string>());
  if (out.empty() && !input.is_null() && !input.empty()) out = one_line(to_line(input));
  return cut_columns(out, most_input, character_set::ascii);
}

std::string call_text(const std::string& name, const json& input) {
  const auto what = input_text(input);
  return printable(name) + (what.empty() ? "" : " " + what);
}

std::string outcome_text(const json& outcome) {
  if (member(outcome, "cancelled") == true) return "cancelled";
  if (member(outcome, "ok") == true) {
    const auto& code = member(member(member(outcome, "result"), "result"), "exit_code");
    return code.is_number_integer() && code != 0 ? "exit " + std::to_string(whole_number(code)) : "ok";
  }
  const auto& error = member(member(outcome, "result"), "error");
  const auto message = one_line(text_of(error, "message"));
  return "failed" + (message.empty() ? "" : ": " + cut_columns(message, most_reason, character_set::ascii));
}

std::string usage_text(const json& usage) {
  const auto in = number_of(usage, "input_tokens"), out = number_of(usage, "output_tokens"),
             cached = number_of(usage, "cached_input_tokens");
  if (in == 0 && out == 0) return {};
  const auto& cost = member(usage, "cost");
  std::array<char, 32> price{};
  if (cost.is_number()) std::snprintf(price.data(), price.size(), ", cost %.6g", cost.get<double>());
  return std::to_string(in) + " tokens in" + (cached > 0 ? " (" + std::to_string(cached) + " cached)" : "") + ", " +
         std::to_string(out) + " out" + price.data() + (member(usage, "estimated") == true ? " (estimated)" : "");
}

std::string model_words(const json& event) {
  const auto type = type_of(event);
  const auto& data = member(event, "data");
  const auto model = printable(text_of(data, "model"));
  const auto why = [&] {
    return ": " + cut_columns(one_line(text_of(data, "reason")), most_reason, character_set::ascii);
  };
  if (type == event_type::model_queued) {
    const auto ahead = number_of(data, "ahead");
    return "waiting for model " + model + (ahead > 0 ? ", behind " + std::to_string(ahead) + " others" : "");
  }
  if (type == event_type::model_asked)
    return "model " + model + " is asked, after " + duration_text(milliseconds{number_of(data, "waited_ms")});
  if (type == event_type::model_retry)
    return "model " + model + " is asked again in " + duration_text(milliseconds{number_of(data, "wait_ms")}) + why();
  if (type == event_type::history_compacted)
    return std::to_string(number_of(data, "messages")) + " older messages gave way to a summary";
  if (type == event_type::model_fallback)
    return "model " + printable(text_of(data, "to")) + " is asked in place of " + printable(text_of(data, "from")) +
           why();
  return {};
}

std::string stop_reason_words(const json& turn) {
  const auto reason = text_of(turn, "stop_reason");
  if (reason == "length") return "the answer is cut: it reached the limit of one answer (max_tokens)";
  if (reason == "content_filter") return "the provider's content filter cut the answer";
  if (reason == "refusal") return "the model refused to answer";
  return {};
}

std::vector<std::string> approval_commands(const std::string& operation) {
  return {"quell approve " + short_id(operation), "quell deny " + short_id(operation) + " --reason WHY"};
}

std::vector<std::string> question_lines(const json& question) {
  std::vector<std::string> out{printable(text_of(question, "server")) +
                               " asks: " + cut(one_line(text_of(question, "message")), 4000, character_set::ascii)};
  const auto& form = member(question, "form");
  const auto& fields = member(form, "properties");
  const auto& required = member(form, "required");
  if (!fields.is_object()) return out;
  for (const auto& [name, field] : fields.items()) {
    const auto kind = text_of(field, "type");
    std::string line = "  " + one_line(name) + "  " + one_line(kind);
    for (const char* key : {"enum", "oneOf", "items"})
      if (const auto& choices = member(field, key); !choices.is_null())
        line += " " + cut(printable(to_line(choices)), 300, character_set::ascii);
    if (const auto about = text_of(field, "description"); !about.empty())
      line += ": " + cut(one_line(about), 300, character_set::ascii);
    if (const auto& usual = member(field, "default"); !usual.is_null())
      line += "  (default " + cut(printable(to_line(usual)), 80, character_set::ascii) + ")";
    else if (required.is_array() && std::find(required.begin(), required.end(), name) != required.end())
      line += "  (required)";
    out.push_back(line);
  }
  return out;
}

std::vector<std::string> answer_commands(const std::string& operation, const json& question) {
  const auto what = short_id(operation) + " --question " + short_id(text_of(question, "id"));
  const auto& fields = member(member(question, "form"), "properties");
  return {"quell approve " + what + (fields.is_object() && !fields.empty() ? " --set NAME=VALUE" : ""),
          "quell deny " + what + " [--dismiss]"};
}

std::string stopped_text(const json& cancel) {
  std::string names;
  if (const auto& all = member(cancel, "interrupted"); all.is_array())
    for (const auto& name : all)
      if (name.is_string()) names += (names.empty() ? "" : ", ") + printable(name.get<std::string>());
  return counted(number_of(cancel, "operations"), "operation") + (names.empty() ? "" : " (" + names + ")");
}

std::string stop_summary(const json& cancel) {
  const auto& report = member(cancel, "report");
  std::string out = counted(number_of(report, "operations"), "operation"), kinds;
  const auto& receipts = member(report, "receipts");
  if (receipts.is_object())
    for (const auto& [name, count] : receipts.items())
      if (whole_number(count) > 0)
        kinds += (kinds.empty() ? "" : ", ") + std::to_string(whole_number(count)) + " " + printable(name);
  if (!kinds.empty()) out += ": " + kinds;
  if (text_of(cancel, "status") != "settled")
    return out + "; " + std::to_string(number_of(report, "unproven_total")) + " not proven dead yet";
  out += member(report, "proven") == true ? "; all proven" : "; not all proven";
  if (const auto& ms = member(report, "settled_ms"); ms.is_number())
    out += " (" + duration_text(milliseconds{whole_number(ms)}) + ")";
  return out;
}

bool has_stopped_its_target(const json& cancel) {
  return cancel.is_object() && text_of(cancel, "outcome") != "already_finished";
}

std::string stop_word(const json& cancel) {
  if (!has_stopped_its_target(cancel)) return "cancelled";
  if (text_of(cancel, "status") != "settled") return "stopping";
  return member(member(cancel, "report"), "proven") == true ? "stopped" : "ended";
}

std::string stop_line(const std::string& words, character_set characters) {
  return (characters == character_set::utf8 ? "⏹ " : "") + words;
}

std::string acknowledgement_text(const json& data) {
  const auto text = text_of(data, "text");
  const bool is_own = !text_of(data, "state").empty();
  return (is_own ? text : without_stop_signs(text)) + text_of(data, "reaction");
}

std::string event_words(const json& event) {
  const auto type = type_of(event);
  const auto& data = member(event, "data");
  std::string out;
  if (type == event_type::turn_start) out = text_of(data, "agent") + " with " + text_of(data, "model");
  if (type == event_type::text_delta) out = one_line(text_of(data, "text"));
  if (type == event_type::tool_start || type == event_type::approval_required)
    out = call_text(text_of(data, "name"), member(data, "input"));
  if (type == event_type::approval_required) out += "  (rule " + text_of(data, "rule") + ")";
  if (type == event_type::tool_progress)
    out = text_of(data, "name") + "  " + duration_text(milliseconds{number_of(data, "elapsed_ms")}) + "  " +
          one_line(text_of(data, "last_line"));
  if (type == event_type::tool_output) out = text_of(data, "name") + "  " + one_line(text_of(data, "text"));
  if (type == event_type::tool_timeout)
    out = text_of(data, "name") + "  after " + duration_text(milliseconds{number_of(data, "timeout_ms")});
  if (type == event_type::tool_result)
    out = text_of(data, "name") + "  " + duration_text(milliseconds{number_of(data, "duration_ms")}) + "  " +
          outcome_text(data);
  if (type == event_type::turn_abort) out = text_of(data, "reason");
  if (type == event_type::thinking_delta) out = one_line(text_of(data, "text"));
  if (auto words = model_words(event); !words.empty()) out = std::move(words);
  if (type == event_type::turn_complete) {
    out = usage_text(member(data, "usage"));
    if (const auto why = stop_reason_words(data); !why.empty()) out = why + (out.empty() ? "" : "; " + out);
  }
  if (type == event_type::approval_resolved) {
    out = text_of(data, "decision") + " by " + person(member(data, "by"));
    if (const auto reason = text_of(data, "reason"); !reason.empty()) out += ": " + reason;
  }
  if (type == event_type::message_decided) out = text_of(data, "decision") + ", " + text_of(data, "why");
  if (type == event_type::acknowledgement) out = text_of(data, "text") + text_of(data, "reaction");
  return out.empty() ? out : "  " + cut(printable(out), 200, character_set::ascii);
}

std::vector<std::string> conversation_lines(const json& messages, const view& v, std::size_t columns) {
  std::vector<std::string> out;
  std::map<std::string, std::string> calls; // of the answer before its results
  const auto add = [&](const std::string& line, color c) {
    out.push_back(painted(cut_columns(line, columns, v.characters), c, v.color));
  };
  for (const auto& message : messages) {
    const auto role = text_of(message, "role");
    const auto text = cut_columns(one_line(text_of(message, "text")), most_of_old_message, v.characters);
    const auto at = instant_of(message, "at");
    if (role == "user") {
      std::string line = (at ? clock_text(*at, v.now, v.zone) + " " : "") + person(member(message, "author")) + ": ";
      line += text;
      if (member(message, "discarded") == true) line += " (not part of the conversation)";
      add(line, color::bold);
    } else if (role == "summary") {
      const auto& summary = member(message, "summary");
      add(member(summary, "clear") == true
              ? "(cleared: nothing above is read any more)"
              : "(summary of " + std::to_string(number_of(summary, "messages")) + " messages) " + text,
          color::dim);
    } else if (role == "assistant") {
      const std::string ending = member(message, "interrupted") == true ? " (interrupted)" : "";
      if (!text.empty() || !ending.empty()) add(without_stop_signs(text) + ending, color::none);
      calls.clear();
      for (const auto& call : member(message, "tool_calls"))
        calls[text_of(call, "call")] = call_text(text_of(call, "name"), member(call, "input"));
    } else {
      for (const auto& result : member(message, "results")) {
        const auto known = calls.find(text_of(result, "call"));
        add("  " + (known == calls.end() ? printable(text_of(result, "name")) : known->second) + "  " +
                outcome_text(result),
            color::dim);
      }
    }
  }
  return out;
}

} // namespace quell::cli
