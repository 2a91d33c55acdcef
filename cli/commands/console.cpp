// `quell console`: a link into the web console. Its secret follows #, which no browser sends to a server.
#include <nlohmann/json.hpp>

#include "cli/browser.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"

namespace quell::cli {

exit_code execute(session& s, const console_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto link = (*controller)->post("/v1/sessions/links", nlohmann::json::object());
  if (!link) return s.fail(link.error());
  const std::string address = (*controller)->where().url + text_of(*link, "path");
  if (s.json()) {
    s.print_document({{"url", address}, {"expires_at", text_of(*link, "expires_at")}});
  } else {
    s.print(address + "\n");
    s.hint("the link signs in once, within an hour, with the rights of your token");
  }
  if (o.open && !open_browser(address, s.env)) s.warn("there is no browser to open ($BROWSER, xdg-open): use the link");
  return exit_code::done;
}

} // namespace quell::cli
