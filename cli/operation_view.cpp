// An operation in words.
#include "cli/operation_view.hpp"

#include <nlohmann/json.hpp>

#include "cli/columns.hpp"
#include "cli/duration.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/session.hpp"
#include "cli/short_id.hpp"
#include "cli/terminal.hpp"
#include "cli/turn_view.hpp"
#include "protocol/failure_code.hpp"

namespace quell::cli {
namespace {

std::string quoted(const std::string& word) {
  const auto harmless = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
  };
  bool plain = !word.empty();
  for (const char c : word) plain = plain && harmless(c);
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

} // namespace

view view_of(const session& s) { return {wall_now(), s.globals.zone(), s.term.color_out, s.term.characters}; }

view plain_view_of(const session& s) { return {wall_now(), s.globals.zone(), false, character_set::ascii}; }

std::string command_text(const nlohmann::json& words) {
  std::string out;
  for (const auto& word : words) {
    if (!word.is_string()) continue;
    out += (out.empty() ? "" : " ") + quoted(word.get<std::string>());
    if (out.size() > 800) break;
  }
  return cut(printable(out), 200, character_set::ascii);
}

std::string operation_name(const nlohmann::json& operation) {
  if (text_of(operation, "kind") == "tool_call")
    return call_text(text_of(operation, "name"), member(member(operation, "tool"), "input"));
  const auto kind = text_of(operation, "kind"), agent = text_of(operation, "name");
  if (const auto title = text_of(operation, "title"); !title.empty()) {
    const bool is_agent = (kind == "turn" || kind == "sub_agent") && !agent.empty();
    return (is_agent ? printable(agent) + ": " : "") + one_line(title);
  }
  if (const auto command = command_text(member(member(operation, "task"), "command")); !command.empty()) return command;
  if (const auto name = text_of(operation, "name"); !name.empty()) return printable(name);
  return printable(text_of(operation, "kind"));
}

std::string operation_state(const nlohmann::json& operation, const view& v) {
  const std::string status = text_of(operation, "status");
  const auto& stop = member(operation, "stop");
  std::string out = painted(status, color_of_status(status), v.color);
  const auto& exit = member(operation, "exit");
  if (status == "failed") {
    const std::string code = text_of(member(operation, "error"), "code"), signal = text_of(exit, "signal");
    if (code != name_of(failure_code::error) && !code.empty())
      out += " " + code;
    else if (!signal.empty())
      out += " signal " + signal;
    else if (member(exit, "code").is_number())
      out += " exit " + std::to_string(number_of(exit, "code"));
  } else if (status == "cancelled") {
    out += " " + text_of(stop, "receipt");
  } else if (status == "pending" || status == "paused") {
    const std::string what = text_of(member(operation, "waiting_for"), "what");
    if (!what.empty()) out += " (" + what + ")";
  } else if (status == "cancelling") {
    const auto kill = instant_of(stop, "kill_at");
    if (kill && *kill > v.now)
      out += " (kill " + relative_text(*kill, v.now) + ")";
    else if (kill)
      out += " (kill due " + relative_text(*kill, v.now) + ")";
  }
  if (member(operation, "unreachable").is_object()) out += painted(" unreachable", color::yellow, v.color);
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string operation_age(const nlohmann::json& operation, const view& v) {
  auto from = instant_of(operation, "started_at");
  if (!from) from = instant_of(operation, "created_at");
  if (!from) return "-";
  return duration_text(instant_of(operation, "ended_at").value_or(v.now) - *from);
}

std::string instant_and_age(const nlohmann::json& object, const char* name, const view& v) {
  const auto at = instant_of(object, name);
  if (!at) return "-";
  return clock_text(*at, v.now, v.zone) + " (" + relative_text(*at, v.now) + ")";
}

std::string person(const nlohmann::json& owner) {
  if (const auto name = text_of(owner, "name"); !name.empty()) return printable(name);
  const auto id = text_of(owner, "id");
  return id.empty() ? "-" : printable(id);
}

std::vector<std::string> operation_reasons(const nlohmann::json& operation, const view& v) {
  std::vector<std::string> out;
  const auto& waiting = member(operation, "waiting_for");
  if (waiting.is_object()) {
    const auto what = text_of(waiting, "what");
    std::string line =
        "waits for " + (what == "turn" ? "its turn" : what) + " since " + instant_and_age(waiting, "since_at", v);
    if (const auto detail = text_of(waiting, "detail");
        !detail.empty() && what != "approval" && what != "answer" && what != "turn")
      line += ": " + printable(detail);
    out.push_back(line);
    if (what == "approval") {
      const auto rule = text_of(member(operation, "tool"), "approval");
      out.push_back("a human must say whether it may run" + (rule.empty() ? "" : ", by rule " + one_line(rule)) + ":");
      for (const auto& command : approval_commands(text_of(operation, "id"))) out.push_back("  " + command);
    }
    if (const auto& question = member(member(operation, "tool"), "question"); question.is_object()) {
      for (const auto& line : question_lines(question)) out.push_back(line);
      for (const auto& command : answer_commands(text_of(operation, "id"), question)) out.push_back("  " + command);
    }
    if (what == "turn" && text_of(operation, "kind") == "turn")
      out.push_back("the turns of a scope run one after the other: quell ps --scope " +
                    printable(text_of(operation, "scope")) + " --kind turn shows what is before it");
    else if (what == "turn")
      out.push_back("an exclusive call of the same answer runs before it, or it is exclusive itself");
  }
  const auto& stop = member(operation, "stop");
  if (stop.is_object()) {
    std::string line = "stop: " + text_of(stop, "cause");
    if (const auto cancel = text_of(stop, "cancel"); !cancel.empty()) line += " " + short_id(cancel);
    if (const auto by = person(member(stop, "by")); by != "-") line += " by " + by;
    if (const auto reason = text_of(stop, "reason"); !reason.empty()) line += ": " + printable(reason);
    out.push_back(line);
    if (const auto receipt = text_of(stop, "receipt"); !receipt.empty()) {
      out.push_back("receipt: " + receipt + ", proof: " + text_of(stop, "proof"));
    } else {
      if (instant_of(stop, "signalled_at"))
        out.push_back("signalled " + instant_and_age(stop, "signalled_at", v));
      else
        out.push_back("not signalled yet: its worker has not acknowledged the stop");
      if (const auto kill = instant_of(stop, "kill_at"))
        out.push_back((*kill > v.now ? "will be killed " : "kill was due ") + instant_and_age(stop, "kill_at", v));
    }
  }
  const auto& unreachable = member(operation, "unreachable");
  if (unreachable.is_object())
    out.push_back("worker " + text_of(operation, "worker") + " is unreachable since " +
                  instant_and_age(unreachable, "since_at", v) + "; dead by rule " +
                  instant_and_age(unreachable, "dead_by", v));
  if (const auto message = text_of(member(operation, "error"), "message"); !message.empty())
    out.push_back("error " + text_of(member(operation, "error"), "code") + ": " + printable(message));
  return out;
}

} // namespace quell::cli
