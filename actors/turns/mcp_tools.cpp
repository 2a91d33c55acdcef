// Gives tools of MCP servers names and schemas that every provider accepts.
#include "actors/turns/mcp_tools.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "actors/turns/result_json.hpp"
#include "controller/done_elsewhere.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::size_t tool_name_bytes = 64, hash_digits = 10;
constexpr std::size_t description_bytes = 4096, schema_bytes = 64 << 10, schema_depth = 64;
constexpr const char* any_object = R"({"type":"object"})";

/// FNV-1a: the same everywhere and always, so that the names in a stored conversation stay valid.
std::string hash_of(const std::string& server, const std::string& tool) {
  std::uint64_t h = 14695981039346656037ULL;
  for (const unsigned char c : server + '\0' + tool) h = (h ^ c) * 1099511628211ULL;
  std::string text;
  for (std::size_t i = 0; i < hash_digits; ++i, h >>= 4) text += "0123456789abcdef"[h & 15];
  return text;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Providers require an object at the top.
std::string offered_schema(const std::string& text) {
  if (text.size() > schema_bytes) return any_object;
  bool deep = false;
  auto schema = json::parse(
      text,
      [&](int depth, json::parse_event_t, json&) {
        deep = deep || depth > static_cast<int>(schema_depth);
        return !deep;
      },
      false);
  if (deep || schema.is_discarded() || !schema.is_object()) return any_object;
  if (const auto type = schema.find("type"); type == schema.end()) {
    schema["type"] = "object";
  } else if (*type != "object") {
    return any_object;
  }
  return schema.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

std::string mcp_names_of(const std::string& server) { return std::string(mcp_tool_prefix) + server + "__"; }

std::string mcp_offered_name(const std::string& server, const std::string& tool) {
  std::string name = mcp_names_of(server) + tool;
  // Two underscores at the end of the server's name or inside it would make the border between the names ambiguous.
  bool same = !tool.empty() && server.find("__") == std::string::npos && !server.ends_with('_');
  for (char& c : name)
    if (!is_plain(c)) {
      c = '_';
      same = false;
    }
  if (same && name.size() <= tool_name_bytes) return name;
  name.resize(std::min(name.size(), tool_name_bytes - hash_digits - 1));
  return name + "_" + hash_of(server, tool);
}

std::string a2a_offered_name(const std::string& server) {
  return std::string(remote_agent_tool_prefix) + server.substr(remote_agent_prefix.size());
}

tool_definition mcp_tool_definition(const turn_settings& settings, const std::string& server,
                                    const mcp_tool_facts& facts) {
  tool_definition d;
  bool cut = false;
  const auto name = is_remote_agent(server) ? a2a_offered_name(server) : mcp_offered_name(server, facts.name);
  d.offer = {name, bounded_text(facts.description, description_bytes, cut), offered_schema(facts.input_schema)};
  d.exclusive = facts.destructive && !facts.read_only;
  d.how = tool_definition::runs::mcp;
  d.mcp_server = server;
  d.mcp_tool = facts.name;
  d.timeout = time_of(settings, d.offer.name, server, facts.name);
  return d;
}

} // namespace quell::controller::turns
