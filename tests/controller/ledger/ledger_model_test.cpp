// Random operation trees against the naive model: no escape, nothing beside the target, one end each, consistent sums,
// crashes at any batch.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "tests/controller/ledger/model_run.hpp"

using namespace quell::controller::testing;

TEST_CASE("whatever happens in whatever order, the ledger says what the naive model says") {
  const bool holds = rc::check("random swarms", [] {
    const auto size = *rc::gen::inRange<std::size_t>(20, 600);
    const auto script =
        *rc::gen::container<std::vector<std::uint32_t>>(size, rc::gen::inRange<std::uint32_t>(0, 1U << 16));
    const std::string wrong = model_run(script).play();
    RC_LOG() << wrong;
    RC_ASSERT(wrong.empty());
  });
  CHECK(holds);
}
