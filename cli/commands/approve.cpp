// `quell approve`, `quell deny`: a human's word on a call that waits for it.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"

namespace quell::cli {

int execute(session& s, const approve_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto id = find_operation(**controller, o.id);
  if (!id) return s.fail(id.error());
  nlohmann::json body = nlohmann::json::object();
  if (o.reason) body["reason"] = *o.reason;
  auto decided = (*controller)->post("/v1/operations/" + *id + (o.approve ? "/approve" : "/deny"), body);
  if (!decided) return s.fail(decided.error());
  if (s.json())
    s.print_document(*decided);
  else
    s.print(short_id(*id) + " " + (o.approve ? "approved: " : "denied: ") + operation_name(*decided) + "\n");
  return exit_code::done;
}

} // namespace quell::cli
