// A conversation with an MCP session: the client's messages as JSON, and its events.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "integrations/mcp/session.hpp"

namespace quell::testing {

using nlohmann::json;

class mcp_talk {
 public:
  explicit mcp_talk(bool started = true) {
    if (started) session.start(), look();
  }

  integrations::mcp_session session{"files"};
  std::vector<json> wrote; ///< every line of the client
  std::vector<integrations::mcp_effect> received;

  void look() {
    for (integrations::mcp_effect& one : session.effects()) {
      if (const auto* send = std::get_if<integrations::mcp_effects::send>(&one)) {
        REQUIRE(send->bytes.ends_with('\n'));
        REQUIRE(send->bytes.find('\n') == send->bytes.size() - 1);
        wrote.push_back(json::parse(send->bytes));
      } else {
        received.push_back(std::move(one));
      }
    }
  }
  void hear(const std::string& bytes) {
    session.receive(bytes);
    look();
  }
  void hear(const json& message) { hear(message.dump() + "\n"); }
  void answer(const json& id, const json& result) { hear(json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}}); }
  void refuse(const json& id, int code, const std::string& words) {
    hear(json{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", words}}}});
  }
  void progress(const json& token, double at) {
    hear(json{{"jsonrpc", "2.0"},
              {"method", "notifications/progress"},
              {"params", {{"progressToken", token}, {"progress", at}, {"total", 4}, {"message", "step"}}}});
  }
  void shake(const std::string& version = "2025-11-25") {
    answer(wrote.at(0).at("id"), {{"protocolVersion", version},
                                  {"capabilities", {{"tools", json::object()}}},
                                  {"serverInfo", {{"name", "every"}, {"version", "1"}}}});
  }
  integrations::mcp_call_number call(const std::string& tool = "echo", const std::string& input = "{}") {
    const auto number = session.begin_call(tool, input);
    look();
    return number;
  }
  bool cancel(integrations::mcp_call_number number, const std::string& reason = "user") {
    const bool did = session.cancel(number, reason);
    look();
    return did;
  }
  void list() { session.list_tools(), look(); }
  void close() { session.close("exited with status 1"), look(); }

  template <class Effect>
  std::vector<Effect> all() const {
    std::vector<Effect> found;
    for (const auto& one : received)
      if (const auto* fits = std::get_if<Effect>(&one)) found.push_back(*fits);
    return found;
  }
  template <class Event>
  std::vector<Event> events(integrations::mcp_call_number number) const {
    std::vector<Event> found;
    for (const auto& one : all<integrations::mcp_effects::tell>())
      if (const auto* fits = std::get_if<Event>(&one.event); fits && one.call == number) found.push_back(*fits);
    return found;
  }
  std::vector<std::string> late_results(integrations::mcp_call_number number) const {
    std::vector<std::string> found;
    for (const auto& one : all<integrations::mcp_effects::late>())
      if (one.call == number) found.push_back(one.what);
    return found;
  }
  std::vector<json> wrote_of(const std::string& method) const {
    std::vector<json> found;
    for (const json& one : wrote)
      if (one.value("method", "") == method) found.push_back(one);
    return found;
  }
};

inline json text_result(const std::string& text) {
  return {{"content", json::array({json{{"type", "text"}, {"text", text}}})}};
}

inline json tool(const std::string& name) {
  return {{"name", name}, {"description", "does " + name}, {"inputSchema", {{"type", "object"}}}};
}

} // namespace quell::testing
