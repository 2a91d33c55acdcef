// The agent card: where an agent is reached, how a caller proves who it is, and what it takes.
#include "gateway/a2a/task_reading.hpp"
#include "gateway/a2a_handlers.hpp"
#include "gateway/query_reader.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::ordered_json;

/// As the client called us; the name is one that the gateway has accepted.
std::string own_url(const exchange& x, const std::string& agent) {
  const bool is_tls = !x.gw.options.tls_cert.empty() && !x.req.is_relayed;
  return (is_tls ? "https://" : "http://") + x.req.host + "/a2a/" + agent;
}

} // namespace

awaitable<response> get_card(exchange& x) {
  query_reader(x.req).finish();
  const auto agent = agent_of_path(x);
  const auto url = own_url(x, agent.name);
  const auto over = [&](const char* binding) {
    return ordered_json{{"url", url}, {"protocolBinding", binding}, {"protocolVersion", "1.0"}};
  };
  const auto modes = ordered_json::array({"text/plain", "application/json"});
  const ordered_json card = {
      {"name", agent.name},
      {"description", "Agent " + agent.name +
                          " of quell. A task that is cancelled is CANCELED when all of its work is "
                          "proven to be gone, and WORKING until then."},
      {"supportedInterfaces", ordered_json::array({over("JSONRPC"), over("HTTP+JSON")})},
      {"version", x.gw.options.version},
      {"capabilities", {{"streaming", true}, {"pushNotifications", true}, {"extendedAgentCard", false}}},
      {"securitySchemes", {{"token", {{"httpAuthSecurityScheme", {{"scheme", "Bearer"}}}}}}},
      {"securityRequirements", ordered_json::array({{{"schemes", {{"token", {{"list", ordered_json::array()}}}}}}})},
      {"defaultInputModes", modes},
      {"defaultOutputModes", ordered_json::array({"text/plain"})},
      {"skills", ordered_json::array({{{"id", "answer"},
                                       {"name", "answer"},
                                       {"description", "Answers messages, with the tools that it is configured with."},
                                       {"tags", ordered_json::array({"agent"})}}})}};
  co_return json_answer(card.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace quell::controller::http::a2a
