// Counts tokens for each admin above a new one.
#include "gateway/token_limits.hpp"

#include <algorithm>
#include <map>

namespace quell::controller {

std::optional<std::string> token_refusal(const std::vector<records::token_record>& known,
                                         const std::optional<scope_path>& scope,
                                         const std::optional<scope_path>& prefix) {
  if (known.size() >= most_tokens)
    return "there are " + std::to_string(known.size()) +
           " tokens, which is the limit; revoke some (DELETE /v1/tokens/{id})";
  if (!prefix) return std::nullopt;
  std::map<std::string, scope_path> of_admins{{prefix->text(), *prefix}};
  for (const auto& token : known)
    if (token.role == role::admin && token.scope && scope && scope->is_at_or_below(*token.scope))
      of_admins.emplace(token.scope->text(), *token.scope);
  for (const auto& [text, of_admin] : of_admins) {
    const auto count = std::count_if(known.begin(), known.end(), [&above = of_admin](const auto& token) {
      return token.scope && token.scope->is_at_or_below(above);
    });
    if (static_cast<std::size_t>(count) >= most_tokens_of_admin)
      return "there are " + std::to_string(count) + " tokens at or below scope " + text +
             ", which is the limit of an admin with that scope; revoke some (DELETE /v1/tokens/{id}; those that have "
             "expired count, too)";
  }
  return std::nullopt;
}

} // namespace quell::controller
