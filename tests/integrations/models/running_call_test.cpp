// How long a call waits for its turn at a model: on a clock of the test, with attempts that fail.
#include "integrations/models/running_call.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "protocol/failure_code.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace std::chrono_literals;

namespace {

struct idle_attempt final : attempt {
  model_clock::time_point wake() const override { return model_clock::time_point::max(); }
  void tick(model_clock::time_point) override {}
  void conclude() override {}
  model_usage usage() const override { return {}; }
};

struct call_world {
  running_call::time_point now{std::chrono::hours(1000)};
  model_settings settings;
  model_gate gate;
  std::vector<model_event> events;
  std::shared_ptr<call_listener> listening =
      std::make_shared<call_listener>([this](model_event event) { events.push_back(std::move(event)); });
  std::unique_ptr<model_gate::place> occupant;
  std::vector<std::unique_ptr<model_gate::place>> occupants; ///< of the fallback models
  attempt_host* attempted = nullptr;
  std::unique_ptr<running_call> call;

  explicit call_world(std::chrono::milliseconds time_for_its_answer,
                      const std::vector<std::chrono::milliseconds>& queue_timeouts_of_fallbacks = {}) {
    settings.name = "m";
    settings.concurrency = 1;
    settings.whole_timeout = time_for_its_answer;
    settings.queue_timeout = 60min;
    settings.first_backoff = settings.longest_backoff = 2min; // half of it by our random number
    occupy();
    std::vector<model_route> routes{route_to(settings)};
    for (const auto timeout : queue_timeouts_of_fallbacks) {
      auto other = settings;
      other.name += std::to_string(routes.size());
      other.queue_timeout = timeout;
      routes.push_back(route_to(other));
      occupants.push_back(gate.line_up(other, {"other/chat"}, nullptr));
      REQUIRE(occupants.back()->enter(now));
    }
    call = std::make_unique<running_call>(std::move(routes), now, model_share{"team/chat"});
    call->connect(
        listening, gate, [] { return 0.0; }, [] {});
    call->step(now);
  }
  model_route route_to(const model_settings& model) {
    model_route route;
    route.settings = model;
    route.who = "model \"" + model.name + "\"";
    route.make = [this](attempt_host& host, std::uint32_t) {
      attempted = &host;
      return std::make_unique<idle_attempt>();
    };
    return route;
  }
  void occupy() {
    occupant = gate.line_up(settings, {"other/chat"}, nullptr);
    REQUIRE(occupant->enter(now));
  }
  void pass(std::chrono::minutes time) {
    now += time;
    call->step(now);
  }
  template <class Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const auto& one : events)
      if (const auto* event = std::get_if<Event>(&one)) found.push_back(*event);
    return found;
  }
};

} // namespace

TEST_CASE("a call waits for its turn until queue_timeout, however short the time for its answer is") {
  call_world w(1s);
  REQUIRE(w.all<model_events::queued>().size() == 1);
  CHECK(w.call->next() == w.now + 60min);
  w.pass(59min);
  CHECK(w.all<model_events::failed>().empty());
  w.pass(1min);
  REQUIRE(w.all<model_events::failed>().size() == 1);
  const auto why = w.all<model_events::failed>()[0].why;
  CHECK(has_code(why, failure_code::model_overloaded));
  CHECK_THAT(why.detail, Catch::Contains("waited 3600 s for its turn; then queue_timeout"));
  CHECK(w.call->over());
  w.occupant.reset();
  CHECK_FALSE(w.attempted);
}

TEST_CASE("all waits of a call for its turn are counted together, and its answer has the whole time again") {
  call_world w(10min);
  w.occupant.reset();
  w.pass(40min);
  REQUIRE(w.all<model_events::admitted>().size() == 1);
  CHECK(w.all<model_events::admitted>()[0].waited == 40min);
  REQUIRE(w.attempted);
  w.attempted->failed({failure_of(failure_code::model_unavailable, "gone"), true, {}}, {});
  w.pass(0min); // it rests, and leaves its place
  REQUIRE(w.all<model_events::retrying>().size() == 1);
  w.occupy();
  w.pass(1min);
  REQUIRE(w.all<model_events::queued>().size() == 2);
  w.pass(19min);
  CHECK(w.all<model_events::failed>().empty());
  w.pass(1min);
  REQUIRE(w.all<model_events::failed>().size() == 1);
  CHECK(has_code(w.all<model_events::failed>()[0].why, failure_code::model_overloaded));
}

TEST_CASE("a call waits for turns at all its models together, not at each of them anew") {
  call_world w(10min, {60min, 90min, 60min});
  w.pass(60min);
  w.pass(0min); // the second model lets it wait as long, and it has: it goes on at once
  CHECK(w.all<model_events::fell_back>().size() == 2);
  CHECK(w.call->next() == w.now + 30min);
  w.pass(29min);
  CHECK(w.all<model_events::fell_back>().size() == 2);
  w.pass(1min);
  w.pass(0min);
  REQUIRE(w.all<model_events::failed>().size() == 1);
  const auto why = w.all<model_events::failed>()[0].why;
  CHECK(has_code(why, failure_code::model_overloaded));
  CHECK_THAT(why.detail, Catch::StartsWith("model \"m3\": waited 5400 s for its turn"));
}

TEST_CASE("a call that has no time left to wait is still asked where it is its turn") {
  call_world w(10min, {60min});
  w.occupants.clear();
  w.pass(60min);
  w.pass(0min);
  REQUIRE(w.attempted);
  CHECK(w.all<model_events::failed>().empty());
}
