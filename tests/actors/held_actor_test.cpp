// Messages to an actor that has died by itself.
#include "actors/held_actor.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <memory>

#include "actors/interfaces.hpp"

using namespace quell;
using namespace quell::actors;

namespace {

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

step_actor::behavior_type fragile(step_actor::pointer) {
  return {[](const run_step& m) { m.what(); }, [](const run_step_later&) {}, [](const clock_ticked&) {}};
}

/// Answers with its destruction, as messages to the MCP host do.
struct answers_at_its_end {
  std::function<void()> answer;
  explicit answers_at_its_end(std::function<void()> what) : answer(std::move(what)) {}
  ~answers_at_its_end() { answer(); }
  answers_at_its_end(const answers_at_its_end&) = delete;
  answers_at_its_end& operator=(const answers_at_its_end&) = delete;
};

} // namespace

TEST_CASE("a message that a dead actor refuses may send to it again with its destruction") {
  stepped_config config;
  caf::actor_system system{config};
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  held_actor<step_actor> held(system, system.spawn(fragile));
  held.send([] { return run_step([] { throw std::runtime_error("played"); }); });
  scheduler.run();
  int refused = 0;
  auto first = std::make_shared<answers_at_its_end>([&] {
    ++refused;
    held.send([&] { return run_step([again = std::make_shared<answers_at_its_end>([&refused] { ++refused; })] {}); });
  });
  held.send([&] { return run_step([kept = std::exchange(first, nullptr)] {}); });
  CHECK(refused == 2);
  CHECK(held.end());
  CHECK_FALSE(held.end());
  held.send([&]() -> run_step {
    FAIL("nothing is made after the end");
    return {};
  });
}
