// A sub-agent that returns after a restart and whose call's actor dies before it has begun.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "actors/turns/adopted_work.hpp"
#include "controller/commands/command.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// Keeps what the core is given, and answers nothing.
struct returning_world {
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::shared_ptr<turn_port> above;
  std::vector<commands::end_local> ends;
  records::operation_record row;

  returning_world() {
    runtime->texts = std::make_shared<json_result_texts>();
    runtime->core.execute = [this](command_request&& what) {
      std::move(what).hand_to([this](const auto& given, const auto&) {
        if constexpr (requires {
                        given.end.abort_reason;
                        given.what;
                      })
          ends.push_back(given);
      });
    };
    agent_context who;
    who.operation = operation_id::fresh();
    who.tree = std::make_shared<turn_tree>(who.operation, costs::tree_limits{}, 1);
    above = std::make_shared<turn_port>(runtime, std::move(who));
    row.id = operation_id::fresh();
    row.kind = kind::sub_agent;
    row.scope = *scope_path::parse("team");
    row.hot.now = status::running;
  }
  std::unique_ptr<actors::tool_work> returns() {
    return adopt_sub_agent(runtime, above, operation_id::fresh(), {"c1", "agent", "{}"}, row);
  }
  void is_stopped() {
    actor_signal s;
    s.operation = row.id;
    s.cause = stop_cause::parent_ended;
    runtime->registry.signal(s);
  }
};

} // namespace

TEST_CASE("a sub-agent whose call's actor dies before it has begun is ended by the stop that follows", "[turns]") {
  returning_world w;
  w.returns().reset(); // the tool's actor has died
  w.is_stopped();
  w.is_stopped();
  REQUIRE(w.ends.size() == 1);
  CHECK(w.ends[0].id == w.row.id);
  CHECK(w.ends[0].what == commands::end_local::reach::with_all_below);
  w.runtime->registry.ended({w.row.id, status::failed});
  CHECK_FALSE(w.runtime->registry.agent(w.row.id));
}

TEST_CASE("a sub-agent that had ended before its call returns to nobody", "[turns]") {
  returning_world w;
  w.row.hot.now = status::completed;
  w.returns().reset();
  CHECK_FALSE(w.runtime->registry.agent(w.row.id));
  w.is_stopped();
  CHECK(w.ends.empty());
}
