// `quell mcp login`, `logout` and `list`: the logins at MCP servers. quelld holds the tokens; only the browser is here.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/browser.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"
#include "cli/redirect_catcher.hpp"
#include "cli/table.hpp"
#include "cli/url.hpp"

namespace quell::cli {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds browser_time{600}; ///< the same as quelld's limit

std::string login_path(const std::string& name) { return "/v1/mcp/" + percent_encoded(name) + "/login"; }

std::string login_words(const json& server) {
  const auto login = server.find("login");
  if (login == server.end() || !login->is_object()) return "-";
  if (!login->value("logged_in", false)) return text_of(*login, "trouble").empty() ? "no" : "needed";
  return text_of(*login, "trouble").empty() ? "yes" : "again";
}

/// Prints the login as a document, for --json, or as a sentence.
exit_code tell(session& s, const json& server, const std::string& sentence) {
  if (s.json())
    s.print_document(server);
  else
    s.print(sentence + "\n");
  return exit_code::done;
}

} // namespace

exit_code execute(session& s, const mcp_login_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto catcher = redirect_catcher::open();
  if (!catcher) return s.fail(catcher.error());
  const auto begun = (*controller)->post(login_path(o.name), {{"redirect_uri", catcher->uri()}});
  if (!begun) return s.fail(begun.error());
  const auto address = text_of(*begun, "authorization_url"), state = text_of(*begun, "state");
  const bool opened = !o.no_browser && open_browser(address, s.env);
  if (opened)
    s.hint("a browser opens; if it does not, open this address:");
  else
    s.warn("open this address in a browser. If that runs on another machine, paste the address here at which it ends:");
  // On a separate line, for copying.
  if (!opened || (s.term.err_is_terminal && !s.json())) std::fprintf(stderr, "%s\n", printable(address).c_str());
  auto brought = catcher->wait(state, browser_time, !opened);
  if (!brought) return s.fail(brought.error());
  json body{{"state", state}};
  for (const char* name : {"code", "iss", "error", "error_description"})
    if (const auto found = brought->find(name); found != brought->end()) body[name] = found->second;
  const auto server = (*controller)->post(login_path(o.name) + "/finish", body);
  if (!server) return s.fail(server.error());
  return tell(s, *server, "logged in at MCP server " + o.name);
}

exit_code execute(session& s, const mcp_logout_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto server = (*controller)->remove(login_path(o.name));
  if (!server) return s.fail(server.error());
  return tell(s, *server, "logged out of MCP server " + o.name);
}

exit_code execute(session& s, const mcp_list_options&) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto list = (*controller)->all_pages("/v1/mcp?limit=1000", "servers");
  if (!list) return s.fail(list.error());
  if (s.json()) {
    s.print_document({{"servers", *list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const view v = view_of(s);
  table rows({"NAME", "KIND", "LOGIN", "EXPIRES", "WHAT IS WRONG"});
  for (const auto& server : *list) {
    const auto at = server.find("login");
    const json login = at != server.end() && at->is_object() ? *at : json::object();
    const auto trouble = printable(text_of(login, "trouble"));
    rows.add({printable(text_of(server, "name")), text_of(server, "kind"), login_words(server),
              instant_and_age(login, "expires_at", v), trouble.empty() ? "-" : trouble});
  }
  if (!rows.empty()) s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

} // namespace quell::cli
