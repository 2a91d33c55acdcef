// Refusals as problem documents: what their headers say.
#include <algorithm>
#include <catch2/catch.hpp>

#include "gateway/problem.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;

namespace {

/// The values of Retry-After, one after the other.
std::string retry_after_of(const problem& p) {
  std::string all;
  for (const auto& [name, value] : p.headers)
    if (name == "Retry-After") all += (all.empty() ? "" : " ") + value;
  return all;
}

refusal refused_for(error_code code, milliseconds retry_after = milliseconds{0}) {
  return {coded_fault{code, "x", {}}, {}, {}, retry_after};
}

} // namespace

TEST_CASE("a refusal says when to come again only if that is known") {
  CHECK(retry_after_of(from_refusal(refused_for(error_code::budget, milliseconds{3'600'000}))) == "3600");
  CHECK(retry_after_of(from_refusal(refused_for(error_code::budget, milliseconds{1}))) == "1"); // rounded up
  CHECK(retry_after_of(from_refusal(refused_for(error_code::budget, milliseconds{59'001}))) == "60");
  CHECK(retry_after_of(from_refusal(refused_for(error_code::budget))).empty());
  CHECK(retry_after_of(from_refusal(refused_for(error_code::too_many_operations))) == "1");
  CHECK(retry_after_of(from_refusal(refused_for(error_code::operation_not_found))).empty());
}
