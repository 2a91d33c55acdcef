// A human approves a call with another input: what it may do is looked up again, at once and after a restart.
#include <catch2/catch.hpp>

#include "tests/actors/turn/turn_world.hpp"

using namespace quell;
using namespace quell::testing;
using namespace quell::actors;

namespace {

/// "danger" asks; with the input "never" a rule denies it, with "brief" it has a shorter time.
tool_traits traits_by_input(const tool_call& call) {
  auto traits = traits_of(call);
  if (call.input == "never") traits.unusable = fault{"denied", "a rule denies it", {}};
  if (call.input == "brief") traits.timeout = std::chrono::seconds{1};
  return traits;
}

const assistant_message asking_answer{"", {{"a", "danger", "own"}}, false};

template <class Effect>
const Effect* effect_in(const std::vector<turn_effect>& effects) {
  for (const auto& e : effects)
    if (const auto* found = std::get_if<Effect>(&e)) return found;
  return nullptr;
}

} // namespace

TEST_CASE("a changed input runs with its own limits", "[turn][changed_input]") {
  plain_texts texts;
  turn t({}, traits_by_input, texts);
  CHECK(effect_in<turn_effects::ask_human>(t.resume({user_message{"x"}, asking_answer}, {}, {}, boot_time{0})));
  CHECK(effect_in<turn_effects::run_tool>(t.human_decided(1, approval_outcome::approved, "", boot_time{0}, "brief")));
  CHECK(t.next_tick() == boot_time{0} + std::chrono::seconds{1});
}

TEST_CASE("a changed input that a rule denies by now is answered, not run", "[turn][changed_input]") {
  plain_texts texts;
  turn t({}, traits_by_input, texts);
  (void)t.resume({user_message{"x"}, asking_answer}, {}, {}, boot_time{0});
  const auto effects = t.human_decided(1, approval_outcome::approved, "", boot_time{1}, "never");
  CHECK_FALSE(effect_in<turn_effects::run_tool>(effects));
  REQUIRE(effect_in<turn_effects::store_result>(effects));
  CHECK(effect_in<turn_effects::store_result>(effects)->what.result == "\"denied\"");
}

TEST_CASE("a changed input comes back after a restart", "[turn][changed_input]") {
  plain_texts texts;
  for (const auto& [input, runs] : {std::pair{"brief", true}, std::pair{"never", false}}) {
    turn t({}, traits_by_input, texts);
    turn_past past;
    past.met.push_back({"a", met_call::state::begun, {}, false, input});
    const auto effects = t.resume({user_message{"x"}, asking_answer}, {}, past, boot_time{0});
    CHECK((effect_in<turn_effects::run_tool>(effects) != nullptr) == runs);
    CHECK_FALSE(effect_in<turn_effects::ask_human>(effects));
  }
}
