// The limits of tokens: of one scoped admin, by way of inner admins, and of all.
#include <catch2/catch.hpp>

#include "gateway/token_limits.hpp"

using namespace quell;
using namespace quell::controller;

namespace {

records::token_record token_for(const std::string& scope, quell::role what = quell::role::chat) {
  records::token_record record;
  record.id = token_id::fresh();
  record.role = what;
  if (!scope.empty()) record.scope = scope_path::parse(scope).value();
  return record;
}

std::optional<scope_path> in(const char* text) { return scope_path::parse(text).value(); }

} // namespace

TEST_CASE("a scoped admin makes so many tokens and no more, also by way of inner admins") {
  std::vector all{token_for("guild", role::admin), token_for("guild/inner", role::admin), token_for("", role::admin),
                  token_for("other", role::admin)};
  while (all.size() + 1 < most_tokens_of_admin + 2) all.push_back(token_for("guild/" + std::to_string(all.size() % 7)));
  CHECK_FALSE(token_refusal(all, in("guild/1"), in("guild")));
  all.push_back(token_for("guild/1"));
  const auto why = token_refusal(all, in("guild/1"), in("guild"));
  REQUIRE(why);
  CHECK(why->find("1000 tokens at or below scope guild,") != std::string::npos);
  CHECK(token_refusal(all, in("guild/inner/x"), in("guild/inner"))); // they would be guild's, too
  CHECK_FALSE(token_refusal(all, in("other/1"), in("other")));
  CHECK_FALSE(token_refusal(all, in("guild/1"), std::nullopt)); // by an admin of everything
  all.pop_back();                                               // revoked
  CHECK_FALSE(token_refusal(all, in("guild/1"), in("guild")));
}

TEST_CASE("there is a most of all tokens, for every admin") {
  std::vector<records::token_record> all(most_tokens, token_for("a"));
  const auto why = token_refusal(all, std::nullopt, std::nullopt);
  REQUIRE(why);
  CHECK(why->find("100000 tokens") != std::string::npos);
  all.pop_back();
  CHECK_FALSE(token_refusal(all, std::nullopt, std::nullopt));
}
