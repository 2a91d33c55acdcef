// `quell why`: operations that are not dead, or not started, yet; since when; and the next step.
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/report.hpp"
#include "cli/short_id.hpp"
#include "cli/url.hpp"
#include "protocol/scope.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

bool is_waiting(const json& operation) {
  const auto status = text_of(operation, "status");
  return status == "pending" || status == "paused" || status == "cancelling" ||
         member(operation, "unreachable").is_object();
}

std::string sentences(const json& operation, const view& v) {
  std::string out = short_id(text_of(operation, "id")) + " " + operation_name(operation) + ": " +
                    operation_state(operation, v) + "\n";
  for (const auto& line : operation_reasons(operation, v)) out += "  " + line + "\n";
  return out;
}

exit_code show_cancel(const session& s, const json& cancel) {
  if (s.json())
    s.print_document(cancel);
  else
    s.print(report_text(cancel, view_of(s)));
  return exit_code::done;
}

/// Shows the operation, and the parts of it and below it that still wait, with the state that the open cancels report
/// for each.
exit_code show_operations(session& s, api& controller, const json& head, const json& below, const std::string& scope) {
  const view v = view_of(s);
  auto open = controller.all_pages(with_query("/v1/cancels", {{"status", "open"}, {"limit", "1000"}}), "cancels");
  if (!open) return s.fail(open.error());
  json waiting = json::array(), unproven = json::array();
  for (const auto& operation : below)
    if (is_waiting(operation) && text_of(operation, "id") != text_of(head, "id")) waiting.push_back(operation);
  const auto concerns = [&](const std::string& id) {
    if (id == text_of(head, "id")) return true;
    for (const auto& operation : below)
      if (text_of(operation, "id") == id) return true;
    return false;
  };
  for (const auto& cancel : *open)
    for (const auto& entry : member(member(cancel, "report"), "unproven"))
      if (concerns(text_of(entry, "operation"))) unproven.push_back(entry);
  if (s.json()) {
    s.print_document({{"operation", head}, {"waiting", waiting}, {"unproven", unproven}, {"cancels", *open}});
    return exit_code::done;
  }
  if (!head.is_null()) s.print(sentences(head, v));
  for (const auto& operation : waiting) s.print(sentences(operation, v));
  if (!unproven.empty()) s.print("not proven dead:\n");
  for (const auto& entry : unproven)
    for (const auto& line : unproven_lines(entry, v)) s.print("  " + line + "\n");
  if (head.is_null() && waiting.empty() && unproven.empty())
    s.print("nothing in scope " + scope + " waits to start or to die\n");
  return exit_code::done;
}

} // namespace

exit_code execute(session& s, const why_options& o) {
  auto connected = s.connect();
  if (!connected) return s.fail(connected.error());
  api& controller = **connected;
  std::optional<problem> not_found;
  if (is_id_tail(o.target)) {
    if (auto id = find_operation(controller, o.target)) {
      auto operation = controller.get("/v1/operations/" + *id);
      if (operation) {
        auto below = controller.all_pages(
            with_query("/v1/operations", {{"below", *id}, {"status", "live"}, {"limit", "1000"}}), "operations");
        if (!below) return s.fail(below.error());
        return show_operations(s, controller, *operation, *below, "");
      }
      if (operation.error().status != 404) return s.fail(operation.error());
      not_found = operation.error();
    } else if (exit_of_problem(id.error()) != exit_code::nothing) {
      return s.fail(id.error());
    } else {
      not_found = id.error();
    }
    if (auto id = find_cancel(controller, o.target)) {
      auto cancel = controller.get("/v1/cancels/" + *id);
      if (cancel) return show_cancel(s, *cancel);
      if (cancel.error().status != 404) return s.fail(cancel.error());
    } else if (exit_of_problem(id.error()) != exit_code::nothing) {
      return s.fail(id.error());
    }
    if (is_whole_id(o.target)) return s.fail(*not_found);
  }
  if (const auto scope = scope_path::parse(o.target); !scope) return s.fail(to_problem(scope.error()));
  auto live = controller.all_pages(
      with_query("/v1/operations", {{"scope", o.target}, {"status", "live"}, {"limit", "1000"}}), "operations");
  if (!live) return s.fail(live.error());
  if (live->empty() && not_found) {
    auto known = controller.get(with_query("/v1/scopes", {{"prefix", o.target}}));
    if (known && member(*known, "scopes").empty()) return s.fail(*not_found);
  }
  return show_operations(s, controller, nullptr, *live, o.target);
}

} // namespace quell::cli
