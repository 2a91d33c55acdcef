// `quell approvals …`: what approvers have allowed for good, and its end.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"

namespace quell::cli {

using nlohmann::json;

exit_code execute(session& s, const approvals_list_options&) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto list = (*controller)->all_pages("/v1/approvals/rules?limit=1000", "rules");
  if (!list) return s.fail(list.error());
  if (s.json()) {
    s.print_document({{"rules", *list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const view v = view_of(s);
  table rows({"ID", "SCOPE", "AGENT", "TOOL", "BY", "EXPIRES", "INPUT"});
  for (const auto& rule : *list)
    rows.add({short_id(text_of(rule, "id")), printable(text_of(rule, "scope")), printable(text_of(rule, "agent")),
              printable(text_of(rule, "tool")), printable(text_of(member(rule, "by"), "id")),
              instant_and_age(rule, "expires_at", v),
              printable(member(rule, "input").dump(-1, ' ', false, json::error_handler_t::replace))});
  if (!rows.empty()) s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

exit_code execute(session& s, const approvals_revoke_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto id = find_standing_approval(**controller, o.id);
  if (!id) return s.fail(id.error());
  auto gone = (*controller)->remove("/v1/approvals/rules/" + *id);
  if (!gone) return s.fail(gone.error());
  if (s.json())
    s.print_document(*gone);
  else
    s.print("standing approval " + short_id(*id) + " is revoked\n");
  return exit_code::done;
}

} // namespace quell::cli
