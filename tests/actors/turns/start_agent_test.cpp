// The report of an agent's end.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "actors/turns/start_agent.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

struct no_agent final : actors::agent_handle {
  void stop(actors::abort_reason, const std::string&) override {}
  void stop_call(const operation_id&, const std::string&) override {}
  void decide(const operation_id&, approval_outcome, const std::string&, const std::optional<std::string>&) override {}
  void waits(const operation_id&, actors::human_wait) override {}
  void die() override {}
};

} // namespace

TEST_CASE("the death of an agent is reported, though nothing but the report is left of it", "[turns]") {
  const auto runtime = std::make_shared<agent_runtime>();
  std::function<void(actors::agent_exit)> report;
  runtime->spawn = [&report](actors::agent_start start) -> std::shared_ptr<actors::agent_handle> {
    report = std::move(start.over); // the supervisor keeps it; the rest ends with the actor
    return std::make_shared<no_agent>();
  };
  agent_context who;
  who.operation = operation_id::fresh();
  who.is_sub_agent = true; // the turn scheduler holds the port of a turn
  std::vector<operation_id> broken;
  start_agent(runtime, who, {}, [&broken](actors::agent_exit how, const std::shared_ptr<turn_port>& port) {
    if (how == actors::agent_exit::died) broken.push_back(port->who().operation);
  });
  REQUIRE(report);
  report(actors::agent_exit::died);
  CHECK(broken == std::vector<operation_id>{who.operation});
}
