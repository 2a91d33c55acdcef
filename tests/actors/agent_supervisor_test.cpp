// The parent of all agents: notices of deaths that are late, doubled, foreign or earlier than the announcement of the
// agent, and what a death does to a turn.
#include <catch2/catch.hpp>
#include <vector>

#include "actors/turns/start_agent.hpp"
#include "controller/ledger.hpp"
#include "tests/actors/agent_actor_world.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::testing;

namespace {

/// A ledger with one running turn.
struct turn_in_ledger {
  moment now{wall_time{milliseconds{1'790'000'000'000}}, boot_time{1'000'000'000'000}};
  std::unique_ptr<controller::ledger> core = controller::ledger::make({}, {}, now);
  operation_id turn;

  turn_in_ledger() {
    controller::create_order order;
    order.by.owner = {"mia", "Mia"};
    order.kind = kind::turn;
    order.scope = scope_path::parse("team").value();
    turn = core->create(order, operation_id::fresh(), now)->id;
    REQUIRE(core->view(turn, now)->hot.now == status::running);
    core->take();
  }
  void dies() { core->actors()->finish_local(turn, controller::turns::broken_end(), now); }
};

} // namespace

TEST_CASE("an agent that dies ends its turn as interrupted, once") {
  turn_in_ledger l;
  agent_actor_world w;
  w.port->tools_wait = true;
  w.when_over = [&](bool broken) {
    if (broken) l.dies();
  };
  w.begin();
  w.run();
  w.exits(w.agent_address(), caf::sec::runtime_error);
  w.run();
  std::vector<std::string> aborts;
  std::vector<records::operation_hot> rows;
  for (const auto& e : l.core->take().journal) {
    if (const auto* row = std::get_if<records::update_operation>(&e); row && row->id == l.turn)
      rows.push_back(row->hot);
    if (const auto* event = std::get_if<records::put_event>(&e); event && event->record.type == event_type::turn_abort)
      aborts.push_back(event->record.data);
  }
  REQUIRE_FALSE(rows.empty());
  CHECK(rows.back().now == status::failed);
  REQUIRE(rows.back().error);
  CHECK(has_code(*rows.back().error, failure_code::interrupted));
  CHECK(aborts == std::vector<std::string>{R"({"reason":"interrupted"})"});
}

TEST_CASE("an agent that died before its supervisor learned of it is reported all the same") {
  agent_actor_world w;
  w.run();
  w.port->throws_at = 1;
  w.begin();
  w.run_agent_alone();
  CHECK(w.overs.empty()); // its announcement waits
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
}

TEST_CASE("foreign, doubled and late notices of deaths change nothing") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  const auto stranger = w.stranger();
  for (int i = 0; i < 2; ++i) w.is_down(stranger.address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs.empty());
  w.exits(w.agent_address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  for (int i = 0; i < 2; ++i) w.is_down(w.agent_address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs.size() == 1);
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("a notice of death for an agent that has completed changes nothing") {
  agent_actor_world w;
  w.begin();
  w.run();
  REQUIRE(w.overs == std::vector<bool>{false});
  w.is_down(w.agent_address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs.size() == 1);
}

TEST_CASE("an agent that dies harms no other agent") {
  agent_actor_world w;
  w.port->tools_wait = true;
  const auto other_port = std::make_shared<played_port>();
  other_port->tools_wait = true;
  std::vector<bool> other_overs;
  w.begin();
  const auto other = w.begin(other_port, [&](bool broken) { other_overs.push_back(broken); });
  w.run();
  w.exits(w.agent_address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(w.port->works == 0);
  CHECK(other_overs.empty());
  CHECK(other_port->works == 2);
  w.stop(other);
  w.run();
  CHECK(other_overs == std::vector<bool>{false});
  CHECK(other_port->works == 0);
}

TEST_CASE("an agent that the end of the process takes along reports nothing") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  w.exits(w.agent_address(), caf::exit_reason::user_shutdown);
  w.run();
  CHECK(w.port->works == 0);
  CHECK(w.overs.empty());
}

TEST_CASE("a death at any point is reported once, whatever the supervisor has handled before") {
  for (int at = 0;; ++at) {
    agent_actor_world w;
    w.port->tools_wait = true;
    w.begin();
    bool goes_on = true;
    for (int i = 0; i < at && goes_on; ++i) goes_on = w.step();
    CAPTURE(at);
    w.exits(w.agent_address(), caf::sec::runtime_error);
    w.exits(w.agent_address(), caf::sec::runtime_error);
    w.run();
    CHECK(w.overs == std::vector<bool>{true});
    CHECK(w.port->works == 0);
    if (!goes_on) break;
    REQUIRE(at < 1000);
  }
}
