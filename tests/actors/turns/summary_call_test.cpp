// The death of the actor that has a summary written: its operation ends once, whatever it was doing. And models that
// cannot answer.
#include "actors/turns/summary_call.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "actors/turns/context_fit.hpp"
#include "controller/commands/command.hpp"
#include "tests/actors/turns/played_models.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace quell::testing;

namespace {

struct summary_world {
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::vector<std::function<void(const outcome<created>&)>> openings;
  std::vector<model_call_end> ends;
  std::vector<early_use> early;             ///< counted before the end
  std::vector<std::function<void()>> steps; ///< of the actor
  bool is_dead = false;                     ///< its steps are dropped
  std::shared_ptr<summary_call> call;
  const operation_id id = operation_id::fresh();

  std::vector<records::message_record> summaries;
  std::vector<model_usage> used;

  moment now{};

  explicit summary_world(summary_order order = {}) {
    runtime->core.now = [this] { return now; };
    runtime->core.execute = [this](command_request&& what) {
      std::move(what).hand_to([this](const auto& given, const auto& reply) {
        using given_command = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<given_command, commands::create_local>)
          openings.push_back([done = reply.done](const outcome<created>& made) { done(made); });
        else if constexpr (std::is_same_v<given_command, commands::close_model_call>)
          ends.push_back(given.what);
        else if constexpr (std::is_same_v<given_command, commands::add_cost>)
          early.push_back(given.what);
        else if constexpr (std::is_same_v<given_command, commands::store_summary>) {
          ends.push_back(given.call);
          summaries.push_back(*given.summary);
        }
      });
    };
    order.id = id;
    order.scope = *scope_path::parse("team");
    call = std::make_shared<summary_call>(runtime, order, [this](std::function<void()> step) {
      if (!is_dead) steps.push_back(std::move(step));
    });
    call->start(
        {}, [this](const model_usage& all) { used.push_back(all); }, [](const summary_end&) {});
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

namespace {

model_usage input_of(std::uint64_t tokens) {
  model_usage usage;
  usage.input_tokens = tokens;
  return usage;
}

} // namespace

TEST_CASE("a model with a smaller context writes a summary of less, if the first one cannot", "[compaction]") {
  summary_order order;
  order.tokens = 500;
  order.model = played_model("large", 50'000);
  order.model.fallbacks = {played_model("small", 4'000)};
  for (int i = 0; i < 20; ++i) order.plan.to_read.emplace_back(user_message{long_text(1'000, std::to_string(i))});
  summary_world w(order);
  auto played = std::make_unique<played_models>();
  auto& models = *played;
  w.runtime->models = std::move(played);
  w.opens();
  w.runs();
  CHECK(models.at(0).fallbacks().empty());
  CHECK(estimated_tokens(models.at(0).request.messages) > 20'000);
  models.play(model_events::queued{"large", 1});
  w.runs();
  w.now.boot = w.now.boot + std::chrono::hours(2);
  models.play(model_events::retrying{2, {}, "cut", "model_cut", "large", input_of(3)});
  models.play(model_events::failed{failure_of(failure_code::model_overloaded, "full"), input_of(10)});
  w.runs();
  REQUIRE(w.early.size() == 2);
  for (const auto& one : w.early) {
    CHECK(one.used.model == "large");
    CHECK_FALSE(one.turn);
    CHECK((one.reported && one.reported->type == event_type::model_usage));
  }
  CHECK((w.early[0].used.usage == input_of(3) && w.early[1].used.usage == input_of(7)));
  CHECK(models.at(1).settings.name == "small");
  CHECK(models.at(1).settings.max_tokens == 500);
  CHECK(models.at(1).settings.queue_timeout == models.at(0).settings.queue_timeout - std::chrono::hours(2));
  CHECK(estimated_tokens(models.at(1).request.messages) <= 3'500);
  CHECK_THAT(models.at(1).first_text(), Catch::Contains("left out"));
  models.play(model_events::text{"Words."});
  models.play(model_events::finished{model_events::stop::end, input_of(5)});
  w.runs();
  REQUIRE(w.summaries.size() == 1);
  CHECK(summary_of(w.summaries[0]).unread > 0);
  CHECK(w.used == std::vector<model_usage>{input_of(15)});
  REQUIRE(w.ends.size() == 1);
  CHECK(w.ends[0].used.model == "small");
  CHECK(w.ends[0].used.usage == input_of(5));
  CHECK(w.early.size() == 2);
}
