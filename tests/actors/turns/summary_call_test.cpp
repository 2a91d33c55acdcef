// The death of the actor that has a summary written: its operation ends once, whatever it was doing.
#include "actors/turns/summary_call.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "controller/commands/command.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

struct summary_world {
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::vector<std::function<void(const outcome<created>&)>> openings;
  std::vector<model_call_end> ends;
  std::vector<std::function<void()>> steps; ///< of the actor
  bool is_dead = false;                     ///< its steps are dropped
  std::shared_ptr<summary_call> call;
  const operation_id id = operation_id::fresh();

  summary_world() {
    runtime->core.execute = [this](command_request&& what) {
      std::move(what).hand_to([this](const auto& given, const auto& reply) {
        using given_command = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<given_command, commands::create_local>)
          openings.push_back([done = reply.done](const outcome<created>& made) { done(made); });
        else if constexpr (std::is_same_v<given_command, commands::close_model_call>)
          ends.push_back(given.what);
      });
    };
    summary_order order;
    order.id = id;
    order.scope = *scope_path::parse("team");
    call = std::make_shared<summary_call>(runtime, order, [this](std::function<void()> step) {
      if (!is_dead) steps.push_back(std::move(step));
    });
    call->start({}, {}, [](const summary_end&) {});
  }
  void opens() {
    REQUIRE(openings.size() == 1);
    openings.front()(created{id});
    openings.clear();
  }
  void runs() {
    for (const auto& step : std::exchange(steps, {})) step();
  }
  void dies() {
    is_dead = true;
    steps.clear();
    call.reset();
  }
};

} // namespace

TEST_CASE("a summary whose actor dies while it is opened ends once the core knows it", "[compaction]") {
  summary_world w;
  w.dies();
  CHECK(w.ends.empty());
  w.opens();
  REQUIRE(w.ends.size() == 1);
  CHECK(w.ends[0].call == w.id);
  REQUIRE(w.ends[0].end.error);
  CHECK(has_code(*w.ends[0].end.error, failure_code::interrupted));
}

TEST_CASE("a summary that the core refuses has no end", "[compaction]") {
  summary_world w;
  w.dies();
  w.openings.front()(tl::unexpected(refusal{{error_code::stale_start, "stopped", {}}, {}, {}}));
  w.openings.clear();
  CHECK(w.ends.empty());
}

TEST_CASE("a summary whose actor dies while its model writes ends with it", "[compaction]") {
  summary_world w;
  w.opens();
  w.runs(); // there is no model, so it waits for its first word
  CHECK(w.ends.empty());
  w.dies();
  REQUIRE(w.ends.size() == 1);
  CHECK(has_code(*w.ends[0].end.error, failure_code::interrupted));
}

TEST_CASE("a summary whose actor dies behind its end has no second one", "[compaction]") {
  summary_world w;
  w.call->stop({});
  w.opens();
  w.runs();
  REQUIRE(w.ends.size() == 1); // not asked, because it was stopped
  w.dies();
  CHECK(w.ends.size() == 1);
}
