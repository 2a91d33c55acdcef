// In every order of events the stored conversation stays valid, and after a stop nothing begins.
#include <rapidcheck.h>

#include "tests/actors/turn/turn_world.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

const std::vector<std::string> tools{"slow", "fast", "exec", "danger", "nothing"};

void one_step(turn_world& w) {
  switch (*rc::gen::inRange(0, 9)) {
  case 0:
    return w.says(*rc::gen::element<std::string>("a", "bc"));
  case 1:
  case 2: {
    const auto phase = w.it().phase();
    if (phase != turn_phase::asking && phase != turn_phase::streaming) return;
    const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(tools));
    w.calls({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 5))});
    return w.finishes();
  }
  case 3:
  case 4:
    if (!w.running.empty()) {
      const auto n = *rc::gen::inRange<std::size_t>(0, w.running.size());
      return w.ends(std::next(w.running.begin(), static_cast<std::ptrdiff_t>(n))->first, *rc::gen::arbitrary<bool>());
    }
    return;
  case 5:
    return w.decide(*rc::gen::inRange<call_number>(1, 20), *rc::gen::arbitrary<bool>());
  case 6:
    return w.pass(std::chrono::seconds(*rc::gen::inRange(0, 130)));
  case 7:
    return w.ends(*rc::gen::inRange<call_number>(1, 20)); // ends a call that may not run at all
  default:
    return w.finishes();
  }
}

} // namespace

TEST_CASE("any order of inputs, and a stop anywhere, leave one result for each call", "[turn]") {
  REQUIRE(rc::check([] {
    turn_world w({.model_calls = 12, .repetition = {.warned = 0, .ended = 9}});
    w.begin();
    const int steps = *rc::gen::inRange(0, 60);
    for (int i = 0; i < steps && w.ended.empty(); ++i) one_step(w);
    const bool was_over = !w.ended.empty();
    w.stop(*rc::gen::element(abort_reason::user, abort_reason::timeout, abort_reason::parent));
    RC_ASSERT(w.ended.size() == 1u);
    RC_ASSERT(was_over || w.ended[0].aborted.has_value());
    RC_ASSERT(w.broken_rule().empty());
    const auto model_call_number = w.model_call_number;
    const auto begun = w.stored_calls.size();
    for (int i = 0; i < 20; ++i) one_step(w);
    RC_ASSERT(w.model_call_number == model_call_number);
    RC_ASSERT(w.stored_calls.size() == begun);
    RC_ASSERT(w.ended.size() == 1u);
  }));
}
