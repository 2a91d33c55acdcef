// A cancel in words.
#include "cli/report.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/duration.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"

namespace quell::cli {
namespace {

std::string count(std::int64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

/// `18 terminated, 2 killed`: the nonzero counts.
std::string counts(const nlohmann::json& object) {
  std::string out;
  if (!object.is_object()) return out;
  for (const auto& [name, value] : object.items())
    if (whole_number(value) != 0)
      out += (out.empty() ? "" : ", ") + std::to_string(whole_number(value)) + " " + printable(name);
  return out;
}

std::string milliseconds_text(const nlohmann::json& report, const char* name) {
  const auto& value = member(report, name);
  if (!value.is_number()) return "-";
  const double ms = value.get<double>();
  std::array<char, 32> buffer{};
  if (ms < 1000)
    std::snprintf(buffer.data(), buffer.size(), ms < 10 ? "%.3f ms" : "%.1f ms", ms);
  else
    std::snprintf(buffer.data(), buffer.size(), "%.2f s", ms / 1000);
  return buffer.data();
}

std::string next_text(const std::string& action) {
  static const std::map<std::string, std::string> texts{
      {"signal", "the signal"},
      {"kill", "the kill"},
      {"kill_again", "another kill"},
      {"lease_expiry", "the end of its worker's lease, by which it is dead"},
      {"settle_unconfirmed", "settling as unconfirmed"},
      {"resolve", "an admin's word: quell resolve ID --declare-dead --reason R"}};
  const auto found = texts.find(action);
  return found == texts.end() ? printable(action) : found->second;
}

} // namespace

std::string why_text(const std::string& why) {
  static const std::map<std::string, std::string> texts{{"signal_in_flight", "the signal is on its way"},
                                                        {"in_grace", "in grace: told to stop, has time until the kill"},
                                                        {"kill_in_flight", "is being killed"},
                                                        {"stuck_in_kernel", "was killed but is stuck in the kernel"},
                                                        {"no_permission", "its worker may not kill it"},
                                                        {"worker_unreachable", "its worker is unreachable"},
                                                        {"awaiting_owner", "its owner was told and has not answered"}};
  const auto found = texts.find(why);
  return found == texts.end() ? printable(why) : found->second;
}

std::string target_text(const nlohmann::json& target) {
  if (const auto operation = text_of(target, "operation"); !operation.empty())
    return "operation " + short_id(operation);
  const auto scope = printable(text_of(target, "scope"));
  if (const auto owner = text_of(target, "owner"); !owner.empty())
    return "owner " + printable(owner) + (scope.empty() ? "" : " in " + scope);
  return scope.empty() ? "everything" : "scope " + scope;
}

std::string progress_text(const nlohmann::json& cancel, const view& v) {
  const auto& report = member(cancel, "report");
  const auto left = number_of(report, "unproven_total");
  std::string out = target_text(member(cancel, "target")) + ": " + text_of(cancel, "status");
  if (left > 0)
    out += ", " + std::to_string(left) + " of " +
           count(number_of(report, "operations"), "operation left", "operations left");
  std::int64_t in_grace = 0;
  std::optional<wall_time> kill;
  std::map<std::string, std::optional<wall_time>> silent;
  for (const auto& entry : member(report, "unproven")) {
    const auto why = text_of(entry, "why");
    if (why == "in_grace") {
      ++in_grace;
      const auto at = instant_of(member(entry, "next"), "at");
      if (at && (!kill || *at < *kill)) kill = at;
    }
    if (why == "worker_unreachable") silent[printable(text_of(entry, "worker"))] = instant_of(entry, "dead_by");
  }
  if (in_grace > 0) out += ", " + std::to_string(in_grace) + " in grace";
  if (kill) out += ", kill " + relative_text(*kill, v.now);
  for (const auto& [worker, dead_by] : silent)
    out += ", " + worker + " unreachable" +
           (dead_by ? ", dead by " + clock_text(*dead_by, v.now, v.zone) + " (" + relative_text(*dead_by, v.now) + ")"
                    : "");
  return out;
}

std::vector<std::string> unproven_lines(const nlohmann::json& entry, const view& v) {
  std::vector<std::string> out;
  std::string head = short_id(text_of(entry, "operation"));
  if (const auto title = text_of(entry, "title"); !title.empty()) head += " " + printable(title);
  if (const auto worker = text_of(entry, "worker"); !worker.empty()) head += " on " + printable(worker);
  out.push_back(head + ": " + why_text(text_of(entry, "why")) + ", since " + instant_and_age(entry, "since_at", v));
  const auto& next = member(entry, "next");
  if (next.is_object()) {
    std::string line = "  next: " + next_text(text_of(next, "action"));
    if (instant_of(next, "at")) line += ", " + instant_and_age(next, "at", v);
    if (instant_of(entry, "dead_by")) line += "; dead by " + instant_and_age(entry, "dead_by", v);
    out.push_back(line);
  }
  const auto& processes = member(entry, "processes");
  for (const auto& process : processes)
    out.push_back("  process " + std::to_string(number_of(process, "pid")) + " " +
                  printable(text_of(process, "state")) + " " + printable(text_of(process, "command")));
  if (const auto total = number_of(entry, "processes_total"); total > static_cast<std::int64_t>(processes.size()))
    out.push_back("  and " +
                  count(total - static_cast<std::int64_t>(processes.size()), "more process", "more processes"));
  return out;
}

std::string report_text(const nlohmann::json& cancel, const view& v) {
  const auto& report = member(cancel, "report");
  const auto outcome = text_of(cancel, "outcome"), status = text_of(cancel, "status");
  const auto total = number_of(report, "operations"), left = number_of(report, "unproven_total");
  const std::string name = "cancel " + short_id(text_of(cancel, "id")) + " of " + target_text(member(cancel, "target"));
  if (outcome == "already_finished") return name + ": it had already finished; nothing to stop.\n";
  if (outcome == "nothing_live")
    return name + ": nothing was live. The cutoff is recorded: nothing decided before it will start.\n";
  if (outcome == "unknown_id")
    return name + ": no such operation. If one with this id comes within a day, it will not start.\n";
  const bool proven = member(report, "proven") == true;
  std::string verdict;
  color shade = color::yellow;
  if (status == "settled" && proven) {
    verdict = "stopped, proven";
    shade = color::green;
  } else if (status == "settled") {
    verdict = "settled, not proven";
  } else {
    verdict = status;
  }
  std::string out = name + ": " + painted(verdict, shade, v.color) + ", " + count(total, "operation", "operations");
  std::string workers;
  for (const auto& worker : member(report, "workers"))
    if (worker.is_string()) workers += (workers.empty() ? " on " : ", ") + printable(worker.get<std::string>());
  out += workers + (outcome == "joined" ? " (joined the cancel that was already running)" : "") + "\n";
  if (const auto receipts = counts(member(report, "receipts")); !receipts.empty())
    out += "  ended:  " + receipts + "\n";
  if (const auto proofs = counts(member(report, "proofs")); !proofs.empty()) out += "  proof:  " + proofs + "\n";
  out += "  time:   fenced " + milliseconds_text(report, "fenced_ms") + ", signalled " +
         milliseconds_text(report, "signalled_ms") + ", settled " + milliseconds_text(report, "settled_ms") + "\n";
  if (const auto reason = text_of(cancel, "reason"); !reason.empty()) out += "  reason: " + printable(reason) + "\n";
  if (member(cancel, "durable") == false)
    out += "  not on disk: the controller's disk is full. It was performed all the same; free some space.\n";
  const auto n = number_of(member(report, "receipts"), "unconfirmed");
  if (n > 0)
    out += "  " + count(n, "operation", "operations") +
           " unconfirmed: told, but no process of ours; what the far side does is not known.\n";
  if (left > 0) {
    out += "  not proven: " + count(left, "operation", "operations") + "\n";
    for (const auto& entry : member(report, "unproven"))
      for (const auto& line : unproven_lines(entry, v)) out += "    " + line + "\n";
  }
  return out;
}

std::string dry_run_text(const nlohmann::json& cancel, const view& v, int columns) {
  const auto& would = member(cancel, "would_stop");
  const auto total = number_of(member(cancel, "report"), "operations");
  std::string out = "would stop " + count(total, "operation", "operations") + " of " +
                    target_text(member(cancel, "target")) + " (nothing was done)\n";
  table rows({"ID", "KIND", "STATUS", "WORKER", "OWNER", "SCOPE", "TITLE"});
  for (const auto& operation : member(would, "operations")) {
    const auto worker = printable(text_of(operation, "worker")), status = text_of(operation, "status");
    rows.add({short_id(text_of(operation, "id")), printable(text_of(operation, "kind")),
              painted(status, color_of_status(status), v.color), worker.empty() ? "-" : worker,
              person(member(operation, "owner")), printable(text_of(operation, "scope")), operation_name(operation)});
  }
  if (!rows.empty()) out += rows.text(columns, v.characters);
  if (member(would, "truncated") == true) out += "and more: only the oldest are listed\n";
  if (const auto seq = number_of(cancel, "up_to_seq"); seq > 0)
    out += "to leave what begins from now on: --up-to-seq " + std::to_string(seq) + "\n";
  return out;
}

} // namespace quell::cli
