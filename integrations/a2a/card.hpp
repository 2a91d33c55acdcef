// A remote agent's card: where its tasks are sent, and the tool that it is for a model. Pure.
#pragma once

#include <string>
#include <vector>

#include "integrations/mcp/mcp.hpp"
#include "integrations/models/json.hpp"

namespace quell::integrations::a2a {

struct agent_card {
  std::string url;    ///< of the JSON-RPC interface; has the origin of the configured url
  std::string tenant; ///< sent with each request; "" = none
  bool streams = false;
  mcp_tool tool; ///< named `send`
};

/// The card's address for a configured url: below it, or the url itself if it names a JSON document.
std::string card_address(const std::string& url);

/// Scheme, host and port in lower case, with the port always written; "" if it is not an http(s) URL.
std::string origin_of(const std::string& url);

/// Faults: `a2a_broken`, or `a2a_refused` for an agent that quell cannot or must not talk to. A token must not leave
/// for another host because a card says so.
result<agent_card> read_card(const json& card, const std::string& name, const std::string& url);

/// The input of a call.
struct call_order {
  std::string message;
  std::string conversation, task; ///< the agent's ids, to go on with what it said; "" = none
};
/// Fault `a2a_refused`.
result<call_order> read_order(const std::string& input_json);

} // namespace quell::integrations::a2a
