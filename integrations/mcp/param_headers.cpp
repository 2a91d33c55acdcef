// Tool parameters that the newest version wants in headers too.
#include "integrations/mcp/param_headers.hpp"

#include <algorithm>
#include <set>

#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"
#include "protocol/base64.hpp"

namespace quell::integrations::mcp {
namespace {

constexpr const char* key = "x-mcp-header";

bool is_token(std::string_view name) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= mcp_limits::param_header_bytes &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  others.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool fits_in_header(std::string_view text) {
  if (text.starts_with("=?base64?")) return false;
  if (!text.empty() && (text.front() == ' ' || text.back() == ' ')) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7F; });
}

} // namespace

std::string header_value(std::string_view text) {
  return fits_in_header(text) ? std::string(text) : "=?base64?" + base64(text) + "?=";
}

result<param_headers> param_headers_of(const json& input_schema) {
  param_headers found;
  std::set<std::string> names;
  const json& properties = member(input_schema, "properties");
  if (!properties.is_object()) return found;
  for (const auto& [property, schema] : properties.items()) {
    const json& name = member(schema, key);
    if (name.is_null() && !(schema.is_object() && schema.contains(key))) continue;
    const std::string type = text_member(schema, "type");
    if (type != "string" && type != "integer" && type != "boolean")
      return failure(server_code::mcp_broken,
                     "it wants a header for a parameter that is not a string, integer or boolean");
    if (!name.is_string() || !is_token(name.get<std::string>()))
      return failure(server_code::mcp_broken, "it wants a header whose name no header can have");
    if (!names.insert(lower_case(name.get<std::string>())).second)
      return failure(server_code::mcp_broken, "it wants two parameters in one header");
    if (found.size() >= mcp_limits::param_headers) return failure(server_code::mcp_broken, "it wants too many headers");
    found.emplace_back(property, name.get<std::string>());
  }
  return found;
}

std::vector<std::string> param_header_lines(const param_headers& wanted, const json& input) {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (const auto& [property, name] : wanted) {
    const json& value = member(input, property.c_str());
    if (!value.is_string() && !value.is_boolean() && !value.is_number()) continue;
    const std::string text = header_value(value.is_string() ? value.get<std::string>() : dump_json(value));
    if ((bytes += text.size()) > mcp_limits::header_bytes) break; // servers do not accept more either
    // libcurl sends a header without a value only if it is written with a semicolon.
    lines.push_back("Mcp-Param-" + name + (text.empty() ? ";" : ": " + text));
  }
  return lines;
}

} // namespace quell::integrations::mcp
