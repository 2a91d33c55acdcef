// The texts of refusals, which workers of other versions compare.
#include "protocol/refusal_code.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace quell;

TEST_CASE("refusals have the texts that workers know", "[vocabulary]") {
  std::string all;
  for (const auto& row : refusal_codes) all += std::string(row.text) + " ";
  CHECK(all == "unsupported_version not_enrolled removed other_cluster lease_held old_epoch session_over ");
  const auto refusal = refusal_of(refusal_code::lease_held, "wait", milliseconds{5});
  CHECK(refusal.code == "lease_held");
  CHECK(has_code(refusal, refusal_code::lease_held));
  CHECK_FALSE(has_code(refusal, refusal_code::removed));
}
