// `quell reload`: quelld reads its configuration anew.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"

namespace quell::cli {

exit_code execute(session& s, const reload_options&) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto done = (*controller)->post("/v1/config/reload", nlohmann::json::object());
  if (!done) return s.fail(done.error());
  if (s.json()) {
    s.print_document(*done);
    return exit_code::done;
  }
  const auto& changed = member(*done, "changed");
  std::string out = changed.empty() ? "reloaded: nothing has changed\n" : "reloaded; changed:\n";
  for (const auto& place : changed)
    if (place.is_string()) out += "  " + printable(place.get<std::string>()) + "\n";
  s.print(out);
  return exit_code::done;
}

} // namespace quell::cli
