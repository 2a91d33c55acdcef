// An MCP server over HTTP that a test controls, of the versions that have sessions, and a client for it.
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "integrations/mcp/http_server.hpp"
#include "tests/integrations/mcp/mcp_recorder.hpp"

namespace quell::testing {

using integrations::mcp_hooks;
using integrations::mcp_http_options;
using integrations::mcp_http_server;
using integrations::mcp_server;
using nlohmann::json;

inline std::string answer_text(const json& id, const json& result) {
  return json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}}.dump();
}
inline move answered(const json& id, const json& result, const std::string& more = {}) {
  return whole(200, answer_text(id, result), more);
}
inline move accepted() { return whole(202, ""); }
inline std::string event(const json& message) { return "event: message\nid: 7\ndata: " + message.dump() + "\n\n"; }
inline std::string progress(const json& request) {
  return event(
      {{"jsonrpc", "2.0"},
       {"method", "notifications/progress"},
       {"params", {{"progressToken", request["params"]["_meta"]["progressToken"]}, {"progress", 1}, {"total", 2}}}});
}
inline std::string method_of(const http_ask& ask) {
  return ask.body.empty() ? "" : json::parse(ask.body).value("method", "");
}
/// The request that listens on the session's own stream.
inline bool is_listening(const http_ask& ask) {
  const auto accept = ask.headers.find("accept");
  return ask.body.empty() && !ask.headers.contains("last-event-id") && accept != ask.headers.end() &&
         accept->second == "text/event-stream";
}
inline const json greeting{{"content", json::array({json{{"type", "text"}, {"text", "hi"}}})}};

/// A server with sessions (2025-11-25); `call` decides the result of a tool's call, `rest` that of a request that
/// resumes one.
class old_server {
 public:
  explicit old_server(std::function<moves(const http_ask&, const json&)> call,
                      std::function<moves(const http_ask&)> rest = {})
      : call_(std::move(call)), rest_(std::move(rest)), server([this](const http_ask& ask) { return answer(ask); }) {}
  std::atomic<int> session = 1;
  move forgotten = whole(404, "{}"); ///< what a session that it does not know is answered; set before it is asked

 private:
  moves answer(const http_ask& ask) {
    if (ask.headers.contains("last-event-id")) return rest_ ? rest_(ask) : moves{whole(405, "")};
    if (ask.body.empty()) return {whole(200, "")};
    const json message = json::parse(ask.body);
    const std::string method = message.value("method", "");
    if (method == "server/discover")
      return {whole(400, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}})")};
    if (method == "initialize")
      return {answered(message["id"], {{"protocolVersion", "2025-11-25"}, {"serverInfo", {{"name", "old"}}}},
                       "Mcp-Session-Id: s-" + std::to_string(session) + "\r\n")};
    const auto given = ask.headers.find("mcp-session-id");
    if (given == ask.headers.end() || given->second != "s-" + std::to_string(session)) return {forgotten};
    if (ask.headers.at("mcp-protocol-version") != "2025-11-25") return {whole(400, "{}")};
    if (!message.contains("id") || method.empty()) return {accepted()};
    return call_(ask, message);
  }
  std::function<moves(const http_ask&, const json&)> call_;
  std::function<moves(const http_ask&)> rest_;

 public:
  http_server server;
};

inline mcp_http_options quick() {
  mcp_http_options options;
  options.first_backoff = std::chrono::milliseconds(2);
  options.longest_backoff = std::chrono::milliseconds(10);
  return options;
}

inline std::unique_ptr<mcp_server> open(const std::string& url, mcp_http_options options = quick(),
                                        mcp_hooks hooks = {}) {
  auto made = mcp_http_server("remote", url, "key-of-great-secrecy", options, std::move(hooks));
  if (!made) FAIL(made.error().detail);
  return std::move(*made);
}

inline std::size_t count(const http_server& server, const std::string& method) {
  std::size_t found = 0;
  for (const http_ask& ask : server.asks()) found += method_of(ask) == method ? 1 : 0;
  return found;
}

} // namespace quell::testing
