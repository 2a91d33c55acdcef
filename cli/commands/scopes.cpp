// `quell scopes`: scopes with live counts and cutoffs.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"
#include "cli/url.hpp"

namespace quell::cli {

exit_code execute(session& s, const scopes_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto path =
      with_query("/v1/scopes", {{"prefix", o.prefix.value_or("")}, {"live", o.live ? "true" : ""}, {"limit", "1000"}});
  auto list = (*controller)->all_pages(path, "scopes");
  if (!list) return s.fail(list.error());
  if (s.json()) {
    s.print_document({{"scopes", *list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  table rows({"SCOPE", "LIVE>", "CANCELLING>", "CUTOFF>", "LAST CANCEL"});
  for (const auto& scope : *list) {
    const auto& last = member(scope, "last_cancel");
    const auto id = last.is_string() ? last.get<std::string>() : text_of(last, "id");
    const auto cutoff = number_of(scope, "cutoff_seq");
    rows.add({printable(text_of(scope, "scope")), std::to_string(number_of(scope, "live")),
              std::to_string(number_of(scope, "cancelling")), cutoff == 0 ? "-" : std::to_string(cutoff),
              id.empty() ? "-" : short_id(id)});
  }
  if (rows.empty())
    s.hint("no scope is known");
  else
    s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

} // namespace quell::cli
