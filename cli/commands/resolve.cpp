// `quell resolve`: an admin's declaration that an operation is dead.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/url.hpp"

namespace quell::cli {

exit_code execute(session& s, const resolve_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  std::string path = "/v1/workers/" + percent_encoded(o.worker.value_or("")) + "/resolve";
  if (o.id) {
    auto id = find_operation(**controller, *o.id);
    if (!id) return s.fail(id.error());
    path = "/v1/operations/" + *id + "/resolve";
  }
  auto answered = (*controller)->post(path, {{"declare", "dead"}, {"reason", o.reason.value_or("")}});
  if (!answered) return s.fail(answered.error());
  if (s.json())
    s.print_document(*answered);
  else if (o.id)
    s.print(short_id(text_of(*answered, "id")) + " " + operation_state(*answered, view_of(s)) + "\n");
  else
    s.print("worker " + *o.worker + ": its work is declared dead\n");
  return exit_code::done;
}

} // namespace quell::cli
