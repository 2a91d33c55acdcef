// The gate of a model: first come, first served, so many at once, so many a minute.
#include <catch2/catch.hpp>

#include "integrations/models/gate.hpp"
#include "integrations/models/model.hpp"

using namespace quell::integrations;
using namespace std::chrono_literals;

namespace {

model_settings limited(std::uint32_t concurrency, std::uint32_t rate) {
  model_settings settings;
  settings.name = "m";
  settings.concurrency = concurrency;
  settings.rate = rate;
  return settings;
}

const model_gate::time_point start{1000s};

} // namespace

TEST_CASE("a model without limits has no row") {
  model_gate gate;
  CHECK(gate.line_up(limited(0, 0), nullptr) == nullptr);
}

TEST_CASE("so many are inside at once, and the first in the row is next") {
  model_gate gate;
  int touched = 0;
  auto a = gate.line_up(limited(1, 0), nullptr);
  auto b = gate.line_up(limited(1, 0), [&] { ++touched; });
  auto c = gate.line_up(limited(1, 0), nullptr);
  CHECK(a->enter(start));
  CHECK(a->enter(start)); // still
  CHECK_FALSE(b->enter(start));
  CHECK(b->when() == model_gate::time_point::max());
  CHECK(c->ahead() == 1);
  const int before = touched;
  a.reset();
  CHECK(touched > before);
  CHECK_FALSE(c->enter(start)); // b was first
  CHECK(b->enter(start));
  CHECK(c->ahead() == 0);
}

TEST_CASE("one that gives up its place in the row makes room for those behind it") {
  model_gate gate;
  int touched = 0;
  auto a = gate.line_up(limited(1, 0), nullptr);
  auto b = gate.line_up(limited(1, 0), nullptr);
  auto c = gate.line_up(limited(1, 0), [&] { ++touched; });
  CHECK(a->enter(start));
  b.reset();
  CHECK(touched > 0);
  CHECK(c->ahead() == 0);
  CHECK_FALSE(c->enter(start)); // a is still inside
  a.reset();
  CHECK(c->enter(start));
}

TEST_CASE("so many begin in a minute, however fast they end") {
  model_gate gate;
  for (int i = 0; i < 3; ++i) CHECK(gate.line_up(limited(0, 3), nullptr)->enter(start + i * 1s));
  auto late = gate.line_up(limited(0, 3), nullptr);
  CHECK_FALSE(late->enter(start + 10s));
  CHECK(late->when() == start + 60s);
  CHECK(late->enter(start + 60s));
  auto next = gate.line_up(limited(0, 3), nullptr);
  CHECK_FALSE(next->enter(start + 60s));
  CHECK(next->when() == start + 61s);
}

TEST_CASE("models wait for their own kind alone") {
  model_gate gate;
  auto one = gate.line_up(limited(1, 0), nullptr);
  CHECK(one->enter(start));
  auto other = limited(1, 0);
  other.name = "other";
  CHECK(gate.line_up(other, nullptr)->enter(start));
}
