// The parent of all agents: notices of deaths that are late, doubled, foreign or earlier than the announcement of the
// agent, and what a death does to a turn.
#include <catch2/catch.hpp>
#include <map>
#include <utility>
#include <vector>

#include "actors/turns/start_agent.hpp"
#include "controller/ledger.hpp"
#include "controller/resumed_agents.hpp"
#include "tests/actors/agent_actor_world.hpp"
#include "tests/actors/large_allocations.hpp"

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
  /// A call of the turn that has begun.
  operation_id call(const std::string& tool) {
    controller::create_order order;
    order.by.owner = {"mia", "Mia"};
    order.kind = kind::tool_call;
    order.parent = turn;
    order.name = tool;
    const auto made = core->create(order, operation_id::fresh(), now)->id;
    core->take();
    return made;
  }
  void dies() {
    core->actors()->finish_local(turn, controller::turns::broken_end(), now);
    controller::resumed_of(*core).end_calls_of_dead(turn, now);
  }
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

TEST_CASE("the calls of an agent that dies are over with it, and no later answer or exit changes that") {
  turn_in_ledger l;
  const auto here = l.call("read"), elsewhere = l.call("mcp__files__read");
  agent_actor_world w;
  w.port->tools_wait = true;
  w.when_over = [&](bool broken) {
    if (broken) l.dies();
  };
  w.begin();
  w.run();
  w.exits(w.agent_address(), caf::sec::runtime_error);
  w.run();
  std::map<operation_id, records::operation_hot> rows;
  for (const auto& e : l.core->take().journal)
    if (const auto* row = std::get_if<records::update_operation>(&e)) rows[row->id] = row->hot;
  for (const auto& [id, how] : {std::pair(here, receipt::killed), std::pair(elsewhere, receipt::unconfirmed)}) {
    REQUIRE(is_terminal(rows.at(id).now)); // and no time has passed
    REQUIRE(rows.at(id).stop);
    CHECK(rows.at(id).stop->how == how);
    CHECK_FALSE(l.core->actors()->finish_local(id, {}, l.now));
  }
  CHECK(l.core->take().journal.empty());
}

TEST_CASE("an agent that died in its first step is reported all the same") {
  agent_actor_world w;
  w.port->throws_at = 1;
  w.begin();
  w.run_to_agent();
  w.run_agent_alone();
  CHECK(w.overs.empty()); // its exit waits
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
}

TEST_CASE("foreign, doubled and late exits change nothing, at the scope and at the supervisor") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  const auto stranger = w.stranger();
  for (int i = 0; i < 2; ++i) {
    w.exits(w.scopes.at(0), stranger.address(), caf::sec::runtime_error);
    w.exits(w.supervisor(), stranger.address(), caf::sec::runtime_error);
  }
  w.run();
  CHECK(w.overs.empty());
  CHECK(w.port->works == 2);
  w.dies(w.agents.at(0));
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  for (int i = 0; i < 2; ++i) {
    w.exits(w.scopes.at(0), w.agent_address(), caf::sec::runtime_error);
    w.exits(w.supervisor(), w.scopes.at(0).address(), caf::sec::runtime_error);
  }
  w.run();
  CHECK(w.overs.size() == 1);
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("a doubled end of an agent whose scope lives on changes nothing") {
  agent_actor_world w;
  const auto other_port = std::make_shared<played_port>();
  other_port->tools_wait = true;
  std::vector<bool> other_overs;
  const auto other = w.begin(other_port, [&](bool broken) { other_overs.push_back(broken); });
  w.run();
  w.begin();
  w.run();
  REQUIRE(w.overs == std::vector<bool>{false});
  REQUIRE(w.scopes.size() == 1);
  for (int i = 0; i < 2; ++i) w.exits(w.scopes.at(0), w.agents.at(1).address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs.size() == 1);
  CHECK(other_overs.empty());
  other->stop(abort_reason::user, "enough");
  w.run();
  CHECK(other_overs == std::vector<bool>{false});
}

TEST_CASE("an agent that dies harms no other agent, of its scope or of another") {
  const std::string other_scope = GENERATE("team", "home");
  agent_actor_world w;
  w.port->tools_wait = true;
  const auto other_port = std::make_shared<played_port>();
  other_port->tools_wait = true;
  std::vector<bool> other_overs;
  w.begin();
  const auto other = w.begin(
      other_port, [&](bool broken) { other_overs.push_back(broken); }, other_scope);
  w.run();
  REQUIRE(w.agents.size() == 2);
  w.dies(w.agents.at(0));
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(w.port->works == 0);
  CHECK(other_overs.empty());
  CHECK(other_port->works == 2);
  other->stop(abort_reason::user, "enough");
  w.run();
  CHECK(other_overs == std::vector<bool>{false});
  CHECK(other_port->works == 0);
}

TEST_CASE("a scope's actor that dies takes its agents along, reports each once, and harms no other scope") {
  agent_actor_world w;
  w.port->tools_wait = true;
  const auto second_port = std::make_shared<played_port>(), other_port = std::make_shared<played_port>();
  second_port->tools_wait = other_port->tools_wait = true;
  std::vector<bool> second_overs, other_overs;
  w.begin();
  const auto second = w.begin(second_port, [&](bool broken) { second_overs.push_back(broken); });
  const auto other = w.begin(
      other_port, [&](bool broken) { other_overs.push_back(broken); }, "home");
  w.run();
  REQUIRE(w.scopes.size() == 2);
  w.dies(w.scopes.at(0));
  w.dies(w.scopes.at(0));
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(second_overs == std::vector<bool>{true});
  CHECK(w.port->works == 0);
  CHECK(second_port->works == 0);
  CHECK(other_overs.empty());
  CHECK(other_port->works == 2);
  second->stop(abort_reason::user, "late"); // nobody is there
  const auto again_port = std::make_shared<played_port>();
  std::vector<bool> again_overs;
  const auto again = w.begin(again_port, [&](bool broken) { again_overs.push_back(broken); });
  other->stop(abort_reason::user, "enough");
  w.run();
  CHECK(again_overs == std::vector<bool>{false}); // the scope has a new actor
  CHECK(other_overs == std::vector<bool>{false});
}

TEST_CASE("a scope's actor that throws as an agent begins reports that agent and those that run") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  w.breaks_at_begin = true;
  std::vector<bool> second_overs;
  const auto second = w.begin(std::make_shared<played_port>(), [&](bool broken) { second_overs.push_back(broken); });
  second->stop(abort_reason::user, "enough");
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(second_overs == std::vector<bool>{true});
  CHECK(w.port->works == 0);
}

TEST_CASE("a scope's actor that throws as it passes a stop on reports each of its agents once") {
  agent_actor_world w;
  w.port->tools_wait = true;
  const auto second_port = std::make_shared<played_port>(), other_port = std::make_shared<played_port>();
  second_port->tools_wait = other_port->tools_wait = true;
  std::vector<bool> second_overs, other_overs;
  w.begin();
  const auto second = w.begin(second_port, [&](bool broken) { second_overs.push_back(broken); });
  const auto other = w.begin(
      other_port, [&](bool broken) { other_overs.push_back(broken); }, "home");
  w.run();
  w.first().stop(abort_reason::user, large_text());
  w.step(); // of the supervisor
  {
    const no_large_allocations full;
    w.run();
  }
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(second_overs == std::vector<bool>{true});
  CHECK(w.port->works + second_port->works == 0);
  CHECK(other_overs.empty());
  CHECK(other_port->works == 2);
  other->stop(abort_reason::user, "enough");
  w.run();
  CHECK(other_overs == std::vector<bool>{false});
}

TEST_CASE("a scope's actor that dies at any point leaves no agent without an end") {
  for (int at = 0;; ++at) {
    agent_actor_world w;
    w.port->tools_wait = true;
    w.begin();
    bool goes_on = true;
    for (int i = 0; i < at && goes_on; ++i) goes_on = w.step();
    CAPTURE(at);
    if (!w.scopes.empty()) w.dies(w.scopes.at(0));
    w.run();
    if (w.scopes.empty() || w.overs.empty()) w.stop();
    w.run();
    CHECK(w.overs.size() == 1);
    CHECK(w.port->works == 0);
    if (!goes_on) break;
    REQUIRE(at < 1000);
  }
}

TEST_CASE("scopes without agents leave no actor behind") {
  agent_actor_world w;
  w.run();
  const auto before = w.running();
  for (int i = 0; i < 10'000; ++i) {
    int overs = 0;
    const auto handle = w.begin(
        std::make_shared<played_port>(), [&](bool) { ++overs; }, "s" + std::to_string(i));
    if (i % 3 == 0) handle->stop(abort_reason::user, "enough");
    w.run();
    if (i % 3 == 1) handle->stop(abort_reason::user, "late");
    w.run();
    REQUIRE(overs == 1);
    w.scopes.clear();
    w.agents.clear();
  }
  CHECK(w.running() == before);
}

TEST_CASE("agents that the end of the process takes along report nothing") {
  const bool by_one = GENERATE(true, false);
  agent_actor_world w;
  w.port->tools_wait = true;
  std::vector<bool> overs;
  const auto handle = w.begin(w.port, [&](bool broken) { overs.push_back(broken); });
  w.run();
  if (by_one)
    handle->die();
  else
    w.ends();
  w.run();
  CHECK(w.port->works == 0);
  CHECK(overs.empty());
  handle->stop(abort_reason::user, "late");
  w.run();
  CHECK(overs.empty());
}

TEST_CASE("a death at any point is reported once, whatever its scope and its supervisor have handled before") {
  for (int at = 0;; ++at) {
    agent_actor_world w;
    w.port->tools_wait = true;
    w.begin();
    w.run_to_agent();
    bool goes_on = true;
    for (int i = 0; i < at && goes_on; ++i) goes_on = w.step();
    CAPTURE(at);
    w.dies(w.agents.at(0));
    w.dies(w.agents.at(0));
    w.run();
    CHECK(w.overs == std::vector<bool>{true});
    CHECK(w.port->works == 0);
    if (!goes_on) break;
    REQUIRE(at < 1000);
  }
}
