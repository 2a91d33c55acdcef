// `quell token …`: create (the secret is shown once), list, revoke.
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

exit_code execute(session& s, const token_create_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  json body{{"name", o.name}, {"role", o.role}, {"scope", o.scope ? json(*o.scope) : json()}};
  if (o.expires && o.expires->count() > 0) body["expires_at"] = instant_text(wall_now() + *o.expires);
  auto token = (*controller)->post("/v1/tokens", body);
  if (!token) return s.fail(token.error());
  if (s.json()) {
    s.print_document(*token);
    return exit_code::done;
  }
  s.print(text_of(*token, "token") + "\n");
  s.hint("this is token " + short_id(text_of(*token, "id")) + "; its secret is shown only now");
  return exit_code::done;
}

exit_code execute(session& s, const token_list_options&) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto list = (*controller)->all_pages("/v1/tokens?limit=1000", "tokens");
  if (!list) return s.fail(list.error());
  if (s.json()) {
    s.print_document({{"tokens", *list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const view v = view_of(s);
  table rows({"ID", "NAME", "ROLE", "SCOPE", "CREATED", "EXPIRES", "LAST USED"});
  for (const auto& token : *list) {
    const auto scope = printable(text_of(token, "scope"));
    rows.add({short_id(text_of(token, "id")), printable(text_of(token, "name")), text_of(token, "role"),
              scope.empty() ? "-" : scope, instant_and_age(token, "created_at", v),
              instant_and_age(token, "expires_at", v), instant_and_age(token, "last_used_at", v)});
  }
  if (!rows.empty()) s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

exit_code execute(session& s, const token_revoke_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto id = find_token(**controller, o.id);
  if (!id) return s.fail(id.error());
  auto gone = (*controller)->remove("/v1/tokens/" + *id);
  if (!gone) return s.fail(gone.error());
  if (s.json())
    s.print_document(*gone);
  else
    s.print("token " + short_id(*id) + " is revoked\n");
  return exit_code::done;
}

} // namespace quell::cli
