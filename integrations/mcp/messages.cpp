// MCP's JSON-RPC messages: encoding and decoding.
#include "integrations/mcp/messages.hpp"

#include <charconv>

namespace quell::integrations::rpc {
namespace {

/// Removes `word` and any white space before it from the front.
bool skip(std::string_view& text, std::string_view word) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::uint64_t> number(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::uint64_t> id_at_front(std::string_view text) {
  if (!skip(text, "{")) return std::nullopt;
  if (skip(text, "\"jsonrpc\"") && !(skip(text, ":") && skip(text, "\"2.0\"") && skip(text, ","))) return std::nullopt;
  if (!skip(text, "\"id\"") || !skip(text, ":")) return std::nullopt;
  const auto id = number(text);
  if (!id || !skip(text, ",") || !(text.starts_with("\"result\"") || skip(text, "\"result\""))) return std::nullopt;
  return id;
}

// The brace that ends a text closes its outermost object, so the member before it belongs to that object.
std::optional<std::uint64_t> id_at_end(std::string_view text) {
  while (text.ends_with(' ') || text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t at = text.rfind("\"id\"");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::size_t before = at;
  while (before > 0 && text[before - 1] == ' ') --before;
  if (before == 0 || text[before - 1] != ',') return std::nullopt;
  text.remove_prefix(at + 4);
  if (!skip(text, ":")) return std::nullopt;
  const auto id = number(text);
  return id && skip(text, "}") && text.empty() ? id : std::nullopt;
}

} // namespace

std::string request(std::uint64_t id, std::string_view method, json params) {
  return dump_json({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
}

std::string notification(std::string_view method, json params) {
  json whole{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) whole["params"] = std::move(params);
  return dump_json(whole);
}

std::string response(const json& id, json result) {
  return dump_json({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

std::string refusal(const json& id, std::int64_t code, std::string_view message) {
  return dump_json({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

message read(json whole) {
  message found;
  if (!whole.is_object()) return found;
  const bool has_id = whole.contains("id") && !whole["id"].is_null();
  if (has_id) found.id = std::move(whole["id"]);
  if (whole.contains("method")) {
    if (!whole["method"].is_string() || (has_id && !found.id.is_string() && !found.id.is_number())) return found;
    found.what = has_id ? message::kind::request : message::kind::notification;
    found.method = whole["method"].get<std::string>();
    if (whole.contains("params")) found.body = std::move(whole["params"]);
  } else if (whole.contains("error")) {
    found.what = message::kind::error; // can lack an id: about a message that could not be read
    found.body = std::move(whole["error"]);
  } else if (has_id && whole.contains("result")) {
    found.what = message::kind::answer;
    found.body = std::move(whole["result"]);
  }
  return found;
}

std::optional<std::uint64_t> own_id(const json& id) {
  if (!id.is_number_unsigned()) return std::nullopt;
  return id.get<std::uint64_t>();
}

std::optional<std::uint64_t> id_of_cut_answer(std::string_view first, std::string_view last) {
  if (const auto id = id_at_front(first)) return id;
  return id_at_end(last);
}

} // namespace quell::integrations::rpc
