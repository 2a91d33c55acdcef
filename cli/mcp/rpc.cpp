// Implements JSON-RPC, the server's side.
#include "cli/mcp/rpc.hpp"

#include <algorithm>

#include "cli/fields.hpp"

namespace quell::cli::mcp {
namespace {

constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
constexpr const char* server_key = "io.modelcontextprotocol/serverInfo";
constexpr std::size_t most_id_bytes = 512;
constexpr int most_line_levels = 100;

bool is_id(const json& id) {
  return id.is_number() || (id.is_string() && id.get_ref<const std::string&>().size() <= most_id_bytes);
}

message wrong(message m, std::string why) {
  m.what = message::kind::invalid;
  m.why = std::move(why);
  return m;
}

} // namespace

json read_line(std::string_view line) {
  bool is_deep = false;
  const auto shallow = [&is_deep](int level, json::parse_event_t, const json&) {
    is_deep = is_deep || level > most_line_levels;
    return !is_deep; // the rest of it is not kept
  };
  auto whole = json::parse(line, shallow, false);
  return is_deep ? json(json::value_t::discarded) : whole;
}

message read_message(json whole) {
  message found;
  if (!whole.is_object()) return wrong(std::move(found), "a message is a JSON object");
  const bool has_id = whole.contains("id");
  if (has_id && is_id(whole["id"])) found.id = whole["id"];
  if (!whole.contains("method")) {
    if (!whole.contains("result") && !whole.contains("error"))
      return wrong(std::move(found), "the message has no method");
    found.what = message::kind::reply;
    return found;
  }
  if (!whole["method"].is_string()) return wrong(std::move(found), "method must be a string");
  if (has_id && !is_id(whole["id"]))
    return wrong(std::move(found), "id must be a number or a string of at most 512 bytes");
  found.method = whole["method"].get<std::string>();
  if (whole.contains("params")) found.params = std::move(whole["params"]);
  if (found.params.is_null()) found.params = json::object();
  if (!found.params.is_object()) return wrong(std::move(found), "params must be an object");
  found.what = has_id ? message::kind::request : message::kind::notification;
  return found;
}

std::string result_line(const json& id, json result) {
  return to_line({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}) + "\n";
}

std::string error_line(const json& id, int code, std::string_view why) {
  return to_line({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", std::string(why)}}}}) + "\n";
}

std::string_view agreed_version(std::string_view requested) {
  const auto found = std::find(std::begin(handshake_versions), std::end(handshake_versions), requested);
  return found == std::end(handshake_versions) ? handshake_versions[0] : *found;
}

bool has_batches(std::string_view version) { return version == "2025-03-26" || version == "2024-11-05"; }

std::string version_in(const json& params) { return text_of(member(params, "_meta"), version_key); }

json stateless_result(json result, std::string_view method, const json& server) {
  result["resultType"] = "complete";
  result["_meta"][server_key] = server;
  if (method == "tools/list" || method == "server/discover")
    result.update({{"ttlMs", 3'600'000}, {"cacheScope", "private"}});
  return result;
}

} // namespace quell::cli::mcp
