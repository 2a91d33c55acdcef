// The report of an agent's end, and the model call that a dead one leaves.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "actors/turns/expected_request.hpp"
#include "actors/turns/start_agent.hpp"
#include "controller/commands/command.hpp"
#include "tests/actors/turns/played_models.hpp"

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

/// A sub-agent's port, before a core that opens each model call and keeps its end.
struct port_world {
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::shared_ptr<turn_port> port;
  std::vector<model_call_end> ends;

  port_world() {
    runtime->core.now = [] { return moment{}; };
    runtime->core.is_low = [] { return false; };
    runtime->core.execute = [this](command_request&& what) {
      std::move(what).hand_to([this](const auto& given, const auto& reply) {
        using given_command = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<given_command, commands::open_model_call>)
          reply.done(created{given.id});
        else if constexpr (std::is_same_v<given_command, commands::close_model_call>)
          ends.push_back(given.what);
      });
    };
    agent_context who;
    who.operation = operation_id::fresh();
    who.is_sub_agent = true;
    who.scope = *scope_path::parse("team");
    who.model = testing::played_model("small", 10'000);
    who.tree = std::make_shared<turn_tree>(operation_id::fresh(), costs::tree_limits{}, 1);
    port = std::make_shared<turn_port>(runtime, std::move(who));
  }
  operation_id opens() {
    const conversation request{user_message{testing::long_text(500)}};
    std::optional<operation_id> call;
    port->expect_request(request);
    port->open_model_call(1, [&call](const result<operation_id>& opened) { call = opened.value(); });
    return call.value();
  }
  void asks() {
    port->ask_model(
        {user_message{"Hi"}}, [](const auto&) {}, [](const model_event&) {});
  }
};

} // namespace

TEST_CASE("a model call that a dead agent had asked and left open counts with its expected use", "[turns]") {
  port_world w;
  const auto call = w.opens();
  w.asks();
  w.port->close_left_model_call();
  w.port->close_left_model_call();
  REQUIRE(w.ends.size() == 1);
  CHECK(w.ends[0].call == call);
  CHECK(w.ends[0].used.usage.input_tokens >= 500);
  REQUIRE(w.ends[0].end.error);
  CHECK(has_code(*w.ends[0].end.error, failure_code::interrupted));
}

TEST_CASE("a model call of a dead agent counts once if it had ended, and not at all if it was never asked", "[turns]") {
  const bool was_requested = GENERATE(true, false);
  port_world w;
  const auto call = w.opens();
  if (was_requested) {
    w.asks();
    w.port->close_model_call(call, {}, model_usage{20, 3});
  }
  w.port->close_left_model_call();
  CHECK(w.ends.size() == (was_requested ? 1U : 0U));
}

TEST_CASE("an agent waits for the model call that was opened with its turn", "[turns]") {
  port_world w;
  const auto id = operation_id::fresh();
  w.port->adopt_first_call({id, expected_use_of("main", testing::played_model("small", 10'000), 700)});
  w.port->expect_first_call();
  std::vector<result<operation_id>> opened;
  const auto open = [&] {
    w.port->expect_request({user_message{"Hi"}});
    w.port->open_model_call(1, [&opened](result<operation_id> call) { opened.push_back(std::move(call)); });
  };
  SECTION("that comes to the disk first") {
    w.port->first_call_opened(created{id});
    CHECK(opened.empty());
    open();
  }
  SECTION("that comes to the disk behind it") {
    open();
    CHECK(opened.empty());
    w.port->first_call_opened(created{id});
  }
  REQUIRE(opened.size() == 1);
  CHECK(opened[0] == id);
  w.asks();
  w.port->close_left_model_call(); // counts with what was expected of it
  REQUIRE(w.ends.size() == 1);
  CHECK(w.ends[0].call == id);
  CHECK(w.ends[0].used.usage.input_tokens == 700);
  open(); // the next one is its own
  REQUIRE(opened.size() == 2);
  CHECK(opened[1] != id);
}

TEST_CASE("an agent hears why the model call of its beginning was refused", "[turns]") {
  port_world w;
  w.port->adopt_first_call({operation_id::fresh(), {}});
  w.port->expect_first_call();
  w.port->first_call_opened(tl::unexpected(refusal{coded_fault{error_code::stale_start, "stopped", {}}, {}, {}}));
  std::optional<result<operation_id>> opened;
  w.port->open_model_call(1, [&opened](result<operation_id> call) { opened = std::move(call); });
  REQUIRE(opened);
  REQUIRE_FALSE(opened->has_value());
  CHECK(has_code(opened->error(), error_code::stale_start));
}

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
