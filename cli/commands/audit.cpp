// `quell audit …`: who did what, as a table (list), as append-only lines (export), and whether the chain is intact
// (verify).
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/audit_chain.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr int at_once = 1000;

problem broken(std::string what) { return local_problem(local_code::audit_broken, std::move(what)); }

/// Visits every entry above `after`, oldest first, while `take` returns true.
std::optional<problem> each_entry(api& controller, std::uint64_t after, const std::function<bool(const json&)>& take) {
  for (;;) {
    auto page = controller.get("/v1/audit?limit=" + std::to_string(at_once) + "&after=" + std::to_string(after));
    if (!page) return page.error();
    const auto& entries = member(*page, "audit");
    if (!entries.is_array() || entries.empty()) return std::nullopt;
    for (const auto& entry : entries) {
      after = static_cast<std::uint64_t>(number_of(entry, "n"));
      if (!take(entry)) return std::nullopt;
    }
    if (entries.size() < at_once) return std::nullopt;
  }
}

/// Reads a copy line by line. Returns the problem of the first bad line.
std::optional<problem> read_copy(std::istream& from, const std::string& name, audit_chain& chain) {
  std::string line;
  while (std::getline(from, line)) {
    if (line.empty()) continue;
    const auto entry = json::parse(line, nullptr, false);
    if (entry.is_discarded())
      return broken(name + ": the line behind entry " + std::to_string(chain.last()) + " is not JSON");
    if (auto wrong = chain.add(entry)) return broken(name + ": " + *wrong);
  }
  if (from.bad()) return local_problem(local_code::io, "cannot read " + name);
  return std::nullopt;
}

std::string who(const json& data) {
  const auto& by = member(data, "by");
  return printable(text_of(by, "name").empty() ? text_of(by, "id") : text_of(by, "name"));
}

std::string through(const json& data) {
  const auto& via = member(data, "via");
  const auto id = text_of(via, "token_id");
  return printable(text_of(via, "channel") + " " + text_of(via, "token") +
                   (id.empty() ? "" : " " + (id.size() == 36 ? short_id(id) : id)));
}

} // namespace

exit_code execute(session& s, const audit_list_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  json all = json::array();
  if (auto wrong = each_entry(**controller, o.after, [&](const json& entry) {
        all.push_back(entry);
        return true;
      }))
    return s.fail(*wrong);
  if (s.json()) {
    s.print_document({{"audit", all}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const view v = view_of(s);
  table rows({"N", "AT", "BY", "DID", "TO", "VIA", "REASON"});
  for (const auto& entry : all) {
    const auto& data = member(entry, "data");
    rows.add({std::to_string(number_of(entry, "n")), instant_and_age(entry, "at", v), who(data),
              printable(text_of(data, "action")), printable(text_of(data, "target")), through(data),
              printable(text_of(data, "reason"))});
  }
  if (!rows.empty()) s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

exit_code execute(session& s, const audit_export_options& o) {
  audit_chain chain;
  std::ofstream file;
  if (o.to) {
    if (std::ifstream copy(*o.to); copy)
      if (auto wrong = read_copy(copy, *o.to, chain)) return s.fail(*wrong);
    file.open(*o.to, std::ios::app);
    if (!file) return s.fail(local_problem(local_code::io, "cannot append to " + *o.to));
  }
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto had = chain.entries();
  std::optional<std::string> gap;
  auto wrong = each_entry(**controller, had > 0 ? chain.last() : o.after, [&](const json& entry) {
    gap = chain.add(entry);
    if (gap) return false;
    const auto line = to_line(entry) + "\n";
    if (o.to)
      file << line;
    else
      s.print(line);
    return true;
  });
  if (o.to && !file.flush())
    return s.fail(local_problem(local_code::io, "cannot append to " + *o.to + ": is the disk full?"));
  if (wrong) return s.fail(*wrong);
  if (gap) return s.fail(broken(*gap + (had > 0 ? "; the copy and the controller do not tell the same story" : "")));
  if (o.to) s.hint(std::to_string(chain.entries() - had) + " entries were appended to " + *o.to);
  return exit_code::done;
}

exit_code execute(session& s, const audit_verify_options& o) {
  audit_chain chain;
  std::optional<problem> wrong;
  if (o.file) {
    std::ifstream file;
    if (*o.file != "-") file.open(*o.file);
    if (*o.file != "-" && !file) return s.fail(local_problem(local_code::io, "cannot read " + *o.file));
    wrong = read_copy(*o.file == "-" ? std::cin : file, *o.file == "-" ? "standard input" : *o.file, chain);
  } else {
    auto controller = s.connect();
    if (!controller) return s.fail(controller.error());
    std::optional<std::string> gap;
    wrong = each_entry(**controller, 0, [&](const json& entry) { return !(gap = chain.add(entry)); });
    if (!wrong && gap) wrong = broken(*gap);
  }
  if (wrong) return s.fail(*wrong);
  if (s.json())
    s.print_document({{"entries", chain.entries()}, {"last", chain.last()}, {"hash", chain.hash()}});
  else
    s.print(std::to_string(chain.entries()) + " entries, the last is " + std::to_string(chain.last()) + " " +
            chain.hash() + ": the chain holds\n");
  return exit_code::done;
}

} // namespace quell::cli
