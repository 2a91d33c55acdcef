// A contextId without a table: the name of a conversation below the caller's scope, or a scope in full.
#include "gateway/a2a/context_id.hpp"

#include "protocol/sha256.hpp"

namespace quell::controller::http::a2a {

namespace {

std::string prefix_below(const std::string& base) { return (base.empty() ? "" : base + "/") + "a2a/"; }

} // namespace

std::optional<scope_path> scope_of_context(std::string_view id, const std::string& base) {
  std::string text(id);
  if (text.starts_with('/'))
    text.erase(0, 1);
  else if (text.find('/') == std::string::npos)
    text = prefix_below(base) + text;
  auto scope = scope_path::parse(text);
  if (!scope) return std::nullopt;
  return *scope;
}

std::string context_of_scope(const scope_path& scope, const std::string& base) {
  const auto& text = scope.text();
  const auto prefix = prefix_below(base);
  if (text.starts_with(prefix) && text.find('/', prefix.size()) == std::string::npos) return text.substr(prefix.size());
  return text.find('/') == std::string::npos ? "/" + text : text;
}

std::string fresh_context(std::string_view token_id, std::string_view agent, std::string_view message) {
  std::string all(token_id);
  all += '\n';
  all += agent;
  all += '\n';
  all += message;
  return sha256_hex(all).substr(0, 32);
}

} // namespace quell::controller::http::a2a
