// `quell ps`: the live operations, as a table or a tree; with -w repeatedly.
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/backoff.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/signals.hpp"
#include "cli/table.hpp"
#include "cli/tree.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr milliseconds between_looks{1000};

std::string path_of(const ps_options& o) {
  query q{{"scope", o.scope.value_or("")}, {"worker", o.worker.value_or("")}, {"kind", o.kind.value_or("")}};
  q.emplace_back("status", o.status ? *o.status : o.all ? "" : "live");
  for (const auto& label : o.labels) q.emplace_back("label", label);
  if (o.tree) q.emplace_back("order", "asc");
  q.emplace_back("limit", "1000");
  return with_query("/v1/operations", q);
}

std::string worker_of(const json& operation) {
  const auto worker = text_of(operation, "worker");
  return worker.empty() ? "-" : printable(worker);
}

std::string as_table(const json& list, const view& v, int columns) {
  table rows({"ID", "STATUS", "AGE>", "WORKER", "SCOPE", "NAME"});
  for (const auto& operation : list)
    rows.add({short_id(text_of(operation, "id")), operation_state(operation, v), operation_age(operation, v),
              worker_of(operation), printable(text_of(operation, "scope")), operation_name(operation)});
  return rows.empty() ? "" : rows.text(columns, v.characters);
}

/// Each node: short id, status, age, worker, then its name. Names follow the branches; columns follow the longest name.
std::string as_tree(const json& list, const view& v, int columns) {
  std::vector<tree_node> nodes;
  for (const auto& operation : list) {
    std::string text =
        short_id(text_of(operation, "id")) + "  " + operation_state(operation, v) + "  " + operation_age(operation, v);
    if (const auto worker = worker_of(operation); worker != "-") text += "  " + painted(worker, color::blue, v.color);
    text += "  " + operation_name(operation);
    if (!member(operation, "parent").is_string())
      text += painted("  [" + printable(text_of(operation, "scope")) + "]", color::dim, v.color);
    nodes.push_back({text_of(operation, "id"), text_of(operation, "parent"), std::move(text)});
  }
  std::string out;
  for (const auto& line : drawn_tree(nodes, v.characters))
    out += cut(line, static_cast<std::size_t>(columns), v.characters) + "\n";
  return out;
}

std::string drawn(const session& s, const ps_options& o, const json& list) {
  const view v = view_of(s);
  std::string out;
  if (o.quiet) {
    for (const auto& operation : list) out += text_of(operation, "id") + "\n";
    return out;
  }
  return o.tree ? as_tree(list, v, s.term.columns) : as_table(list, v, s.term.columns);
}

exit_code show(session& s, const ps_options& o, const json& list) {
  if (s.json()) {
    s.print_document({{"operations", list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const auto text = drawn(s, o, list);
  if (text.empty() && !o.quiet) s.hint(o.all ? "no operation is known" : "nothing lives");
  s.print(text);
  return exit_code::done;
}

/// Runs until Ctrl-C, or until contact is lost for a minute. Without a terminal it prints again only after a change.
exit_code watch(session& s, api& controller, const ps_options& o) {
  std::optional<exit_code> code;
  signal_watch signals(s.loop, {SIGINT, SIGTERM}, [&](int) { code = exit_code::done; });
  backoff contact(milliseconds{60'000});
  std::string last;
  while (!code) {
    milliseconds pause = between_looks;
    auto list = controller.all_pages(path_of(o), "operations");
    if (code) break;
    if (list) {
      contact.contact();
      if (s.json()) {
        const auto line = to_line({{"operations", *list}, {"next_cursor", nullptr}});
        if (line != last) s.print(line + "\n");
        last = line;
      } else {
        const auto text = drawn(s, o, *list);
        if (s.term.out_is_terminal)
          s.print("\x1b[H\x1b[2J" + (text.empty() ? std::string("nothing lives\n") : text));
        else if (text != last)
          s.print(text + "\n");
        last = text;
      }
      std::fflush(stdout);
    } else {
      const auto next = list.error().status == 0 ? contact.lost(std::chrono::steady_clock::now()) : std::nullopt;
      if (!next) return s.fail(list.error());
      pause = *next;
      controller.find_again();
    }
    bool over = false;
    const auto timer = s.loop.after(pause, [&] { over = true; });
    s.loop.run_until([&] { return over || code; });
    s.loop.forget(timer);
  }
  return *code;
}

} // namespace

exit_code execute(session& s, const ps_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  if (o.watch) return watch(s, **controller, o);
  auto list = (*controller)->all_pages(path_of(o), "operations");
  if (!list) return s.fail(list.error());
  return show(s, o, *list);
}

} // namespace quell::cli
