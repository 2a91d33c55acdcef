// How the answers of a turn end, and what it keeps of their results.
#include "tests/actors/turn/turn_world.hpp"

using namespace quell;
using namespace quell::testing;

TEST_CASE("a turn that completes says how its last answer ended", "[turn]") {
  for (const auto why : {model_events::stop::end, model_events::stop::length, model_events::stop::content_filter}) {
    turn_world w;
    w.begin();
    w.says("a");
    w.hears(model_events::finished{why, {}});
    CHECK_FALSE(w.ended.at(0).aborted);
    CHECK(w.ended.at(0).why == why);
  }
}

TEST_CASE("a call whose input the limit of the answer cut away is not told to run without input", "[turn]") {
  for (const auto why : {model_events::stop::length, model_events::stop::content_filter, model_events::stop::calls}) {
    turn_world w;
    w.begin();
    w.calls({"fast", "slow"});
    w.hears(model_events::finished{why, {}});
    REQUIRE(w.answers.size() == 1);
    CHECK(w.answers[0].calls.at(0).input == "{}"); // it was whole: another one followed
    CHECK(w.answers[0].calls.at(1).input == (why == model_events::stop::calls ? "{}" : "{"));
  }
}

TEST_CASE("a turn keeps the newest of its results whole, and of older ones no more than a model can read", "[turn]") {
  turn_limits limits;
  limits.old_result_bytes = 170;
  limits.repetition = {0, 0, 12};
  turn_world w(limits);
  w.begin();
  const std::string large(80, 'x');
  for (call_number n = 1; n <= 5; ++n) {
    w.calls({"fast"});
    w.finishes();
    w.ends(n, true, large);
  }
  std::vector<std::size_t> sizes;
  for (const auto& entry : w.sent)
    if (const auto* results = std::get_if<tool_results>(&entry))
      for (const auto& one : results->results) sizes.push_back(one.result.size());
  CHECK(sizes == std::vector<std::size_t>{10, 10, 80, 80, 80});
  for (call_number n = 1; n <= 5; ++n) CHECK(w.result(n).result == large); // stored whole
}
