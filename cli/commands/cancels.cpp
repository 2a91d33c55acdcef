// `quell cancels`: the list of cancels, newest first.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/report.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"
#include "cli/url.hpp"

namespace quell::cli {

exit_code execute(session& s, const cancels_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto path =
      with_query("/v1/cancels", {{"scope", o.scope.value_or("")}, {"status", o.open ? "open" : ""}, {"limit", "1000"}});
  auto list = (*controller)->all_pages(path, "cancels");
  if (!list) return s.fail(list.error());
  if (s.json()) {
    s.print_document({{"cancels", *list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const view v = view_of(s);
  table rows({"ID", "STATUS", "TARGET", "OPERATIONS>", "LEFT>", "BY", "SINCE", "REASON"});
  for (const auto& cancel : *list) {
    if (o.quiet) {
      s.print(text_of(cancel, "id") + "\n");
      continue;
    }
    const auto& report = member(cancel, "report");
    auto status = text_of(cancel, "status");
    if (status == "settled" && member(report, "proven") == false) status = "settled, unproven";
    rows.add({short_id(text_of(cancel, "id")), painted(status, color_of_status(status), v.color),
              target_text(member(cancel, "target")), std::to_string(number_of(report, "operations")),
              std::to_string(number_of(report, "unproven_total")), person(member(cancel, "by")),
              instant_and_age(cancel, "created_at", v), printable(text_of(cancel, "reason"))});
  }
  if (o.quiet) return exit_code::done;
  if (rows.empty())
    s.hint(o.open ? "no cancel is open" : "no cancel is known");
  else
    s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

} // namespace quell::cli
