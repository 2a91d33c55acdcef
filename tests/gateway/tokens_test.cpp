// Tokens: minted tokens prove themselves, stored ones are found by their hash only.
#include <catch2/catch.hpp>

#include "gateway/tokens.hpp"

using namespace quell;
using namespace quell::controller;

TEST_CASE("a task's token proves its operation and only with the right key") {
  const auto id = operation_id::fresh();
  const auto token = mint_task_token(id, "key");
  CHECK(token.starts_with("qt_"));
  CHECK(token == mint_task_token(id, "key"));
  CHECK(verify_task_token(token, "key") == id);
  CHECK_FALSE(verify_task_token(token, "another key"));
  CHECK_FALSE(verify_task_token(mint_task_token(operation_id::fresh(), "key").substr(0, 35) + token.substr(35), "key"));
}

TEST_CASE("no changed, cut or longer task token is taken") {
  const auto token = mint_task_token(operation_id::fresh(), "key");
  for (std::size_t i = 0; i < token.size(); ++i) {
    auto changed = token;
    changed[i] = changed[i] == 'a' ? 'b' : 'a';
    INFO(i);
    CHECK_FALSE(verify_task_token(changed, "key"));
    CHECK_FALSE(verify_task_token(token.substr(0, i), "key"));
  }
  CHECK_FALSE(verify_task_token(token + "a", "key"));
}

TEST_CASE("a stored token is found by its secret until it expires or is dropped") {
  token_table tokens;
  const auto secret = fresh_token_secret().value();
  CHECK(secret.starts_with("qk_"));
  CHECK(secret != fresh_token_secret().value());
  records::token_record record;
  record.id = token_id::fresh();
  record.name = "laptop";
  record.hash = token_hash(secret);
  record.expires_at = wall_time{milliseconds{1000}};
  tokens.put(record);
  REQUIRE(tokens.find_hash(token_hash(secret), wall_time{milliseconds{999}}));
  CHECK(tokens.by_id(record.id)->last_used_at == wall_time{milliseconds{999}});
  CHECK_FALSE(tokens.find_hash(token_hash(secret), wall_time{milliseconds{1000}}));
  CHECK_FALSE(tokens.find_hash(token_hash(record.hash), wall_time{}));
  CHECK_FALSE(tokens.find_hash(token_hash(secret + "x"), wall_time{}));
  tokens.drop(record.id);
  CHECK_FALSE(tokens.find_hash(token_hash(secret), wall_time{}));
  CHECK(tokens.list().empty());
}
