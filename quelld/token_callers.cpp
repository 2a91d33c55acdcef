// Tokens of the state directory.
#include "quelld/token_callers.hpp"

#include "gateway/token_caller.hpp"
#include "gateway/tokens.hpp"
#include "protocol/clock_now.hpp"
#include "protocol/encoding.hpp"
#include "quelld/secrets.hpp"
#include "storage/tokens.hpp"

namespace quell::controller {
namespace {

tl::unexpected<fault> no_caller(std::string why) { return failure("unauthorized", std::move(why)); }

} // namespace

result<caller> conversing_caller(const std::string& secret, const std::string& directory) {
  if (const auto secrets = load_secrets(directory);
      secrets && equal_in_constant_time(token_hash(secret), token_hash(secrets->admin_token)))
    return bootstrap_caller({"admin", "admin"});
  const auto record = storage::token_of_hash(directory, token_hash(secret));
  if (!record)
    return failure(error_code::storage_unavailable, "the token cannot be looked up: " + record.error().detail);
  if (!*record) return no_caller("the token is unknown or revoked; ask an admin for one (`quell token create`)");
  const auto& t = **record;
  if (t.expires_at && *t.expires_at <= clock_now().wall) return no_caller("the token '" + t.name + "' has expired");
  if (t.role == role::observer || t.role == role::task)
    return no_caller("the role " + std::string(name_of(t.role)) + " of token '" + t.name +
                     "' may not converse; use a token with a wider role");
  return caller_of_token(t);
}

} // namespace quell::controller
