// Faults for errors of MCP servers over HTTP.
#include "integrations/mcp/http_faults.hpp"

#include <algorithm>

#include "integrations/mcp/answers.hpp"
#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

/// The message of an error body: the JSON-RPC error's, otherwise the body's beginning.
std::string words_of(const std::string& body) {
  std::string words;
  if (const auto whole = parse_json(body)) words = text_member(member(*whole, "error"), "message");
  words = excerpt(words.empty() ? body : words, mcp_limits::shown_characters);
  return words.empty() ? std::string() : ": " + words;
}

} // namespace

fault of_http_ending(const std::string& who, std::string_view what, const http_ending& end) {
  const std::string about = who + ", " + std::string(what) + ": ";
  if (!end.broken.empty()) return failure_of(server_code::mcp_broken, about + end.broken);
  if (end.status == 0)
    return failure_of(server_code::mcp_unreachable,
                      about + (end.transport.empty() ? "the connection was lost"
                                                     : excerpt(end.transport, mcp_limits::shown_characters)));
  const std::string answered = about + "it answers " + std::to_string(end.status);
  if (end.status == 401 || end.status == 403)
    return failure_of(server_code::mcp_refused,
                      answered + words_of(end.body) + "; check the key that the configuration names for it");
  if (end.status == 404) return failure_of(server_code::mcp_refused, answered + words_of(end.body) + "; check its url");
  if (end.status >= 300 && end.status <= 399)
    return failure_of(server_code::mcp_refused,
                      answered + ", which is a redirection and not followed; write the url that it leads to");
  if (end.status == 429 || end.status >= 500)
    return failure_of(server_code::mcp_unreachable, answered + words_of(end.body));
  if (end.status >= 400) return failure_of(server_code::mcp_refused, answered + words_of(end.body));
  if (!end.transport.empty())
    return failure_of(server_code::mcp_unreachable, about + "the connection was lost before the answer came: " +
                                                        excerpt(end.transport, mcp_limits::shown_characters));
  return failure_of(server_code::mcp_broken, answered + " and then sends no answer" + words_of(end.body));
}

bool may_pass(const http_ending& end) {
  if (!end.broken.empty()) return false;
  return end.status == 0 || end.status == 429 || end.status >= 500 || !end.transport.empty();
}

bool may_have_lost_the_session(const http_ending& end) { return end.status == 400 || end.status == 404; }

bool offers_stateless_version(const http_ending& end) {
  constexpr std::int64_t unsupported_version = -32022;
  if (end.status != 400) return false;
  const auto whole = parse_json(end.body);
  if (!whole) return false;
  const json& error = member(*whole, "error");
  const json& offered = member(member(error, "data"), "supported");
  return member(error, "code") == json(unsupported_version) && offered.is_array() &&
         std::find(offered.begin(), offered.end(), mcp::stateless_version) != offered.end();
}

} // namespace quell::integrations
