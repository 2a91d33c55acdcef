// Acknowledgements of a stop with their loop: on CAF's test coordinator with its clock, and cut off at each step.
#include "actors/turns/acknowledge.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/step_actor.hpp"
#include "controller/commands/acknowledge_stop.hpp"
#include "controller/commands/add_cost.hpp"
#include "controller/commands/command.hpp"
#include "controller/commands/publish_event.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

/// A model whose events the test sends.
struct played_model final : integrations::model_client {
  struct call final : integrations::model_call {
    explicit call(int& open) : open_(open) { ++open_; }
    ~call() override { --open_; }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    void cancel(std::function<void()> closed) override { closed(); }
    model_usage used() const override { return {40, 2}; }

   private:
    int& open_;
  };
  played_model(int& open, std::vector<std::function<void(model_event)>>& listeners, bool throws_now)
      : open_(open), listeners_(listeners), throws_(throws_now) {}
  std::unique_ptr<integrations::model_call> ask(const integrations::model_settings&, model_request,
                                                std::function<void(model_event)> listener) override {
    if (throws_) throw std::runtime_error("played");
    listeners_.push_back(std::move(listener));
    return std::make_unique<call>(open_);
  }

 private:
  int& open_;
  std::vector<std::function<void(model_event)>>& listeners_;
  const bool throws_;
};

ledger_settings with_budget_of_the_day() {
  ledger_settings settings;
  settings.costs.budgets = {{*scope_path::parse("team"), costs::budget_of::all, 0, 1'000}};
  return settings;
}

/// A turn that is being stopped, in a real ledger; each question to the ledger is answered at once.
struct stop_world {
  moment now{wall_time{milliseconds{1'790'000'000'000}}, boot_time{1'000'000'000'000}};
  std::unique_ptr<ledger> core = ledger::make(with_budget_of_the_day(), {}, now);
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::shared_ptr<acknowledger> says;
  operation_id turn;
  cancel_id cancel;
  int open_calls = 0;
  std::vector<std::function<void(model_event)>> listeners;
  std::string states; ///< of the acknowledgements, in their order; `!` behind the last one
  std::vector<used_by_call> counted;
  std::size_t shown = 0; ///< of them, by events

  explicit stop_world(std::shared_ptr<step_loop> loop, bool model_throws = false) {
    turn_settings settings;
    settings.models.resize(1);
    settings.models[0].name = "m";
    settings.agents.resize(1);
    settings.agents[0].name = settings.agents[0].model = "m";
    settings.chat.acknowledgement_model = "m";
    runtime->settings.set(settings);
    runtime->models = std::make_unique<played_model>(open_calls, listeners, model_throws);
    runtime->core.now = [this] { return now; };
    runtime->core.ask = [this](const auto& what) { what(*core, now)(); };
    runtime->core.execute = [this](command_request&& what) {
      const auto& any = static_cast<const command_variant&>(what.what());
      if (const auto* cost = std::get_if<commands::add_cost>(&any)) {
        counted.push_back(cost->what.used);
        core->costs()->add_cost(cost->what, now);
        return;
      }
      if (const auto* news = std::get_if<commands::publish_event>(&any)) {
        REQUIRE(news->event.type == event_type::model_usage);
        REQUIRE_FALSE(news->event.operation);
        ++shown;
        return;
      }
      const auto& given = std::get<commands::acknowledge_stop>(any);
      for (const auto& one : given.all)
        states += one.words ? "words:" + one.words->text + " " : state_in(one.event.data) + " ";
      if (given.is_last) states += "!";
    };
    says = std::make_shared<acknowledger>(runtime, std::move(loop));
    create_order order;
    order.by.owner = {"mia", "Mia"};
    order.kind = kind::turn;
    order.scope = *scope_path::parse("team");
    turn = core->create(order, operation_id::fresh(), now)->id;
    cancel_order stop;
    stop.by_token.role = role::admin;
    stop.target = records::target_operation{turn};
    cancel = core->cancel(stop, cancel_id::fresh(), now)->record.id;
    core->cancel_fenced(cancel, true, now);
    core->take();
  }
  static std::string state_in(const std::string& data) {
    for (const char* state : {"stopping", "stopped", "unproven", "unconfirmed"})
      if (data.find('"' + std::string(state) + '"') != std::string::npos) return state;
    return "reaction";
  }
  void is_fenced() {
    stop_request_news news;
    news.message = message_id::fresh();
    news.cancel = cancel;
    news.scope = *scope_path::parse("team");
    news.text = "stop";
    news.author.id = "mia";
    auto place = says->place_for(news);
    says->acknowledge(std::move(news), std::move(place));
  }
  void settles() {
    core->actors()->finish_local(turn, {}, now);
    core->take();
    REQUIRE(core->view_cancel(cancel, now)->record.status == cancel_status::settled);
    says->settled(cancel);
  }
  void model_says(const std::string& text) {
    REQUIRE(listeners.size() == 1);
    listeners[0](model_events::text{text});
    listeners[0](model_events::finished{});
  }
};

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// A loop whose `stop` does not wait, since on the test coordinator nobody else runs the actor.
struct unawaited_loop final : step_loop {
  explicit unawaited_loop(caf::actor_system& system) : to(actors::spawn_step_loop(system)) {}
  void post(step what) override {
    if (to) to->post(std::move(what));
  }
  void after(milliseconds wait, step what) override {
    if (to) to->after(wait, std::move(what));
  }
  void stop() override { to.reset(); }
  std::shared_ptr<step_loop> to;
};

/// The loop is an actor; one message at a time, and a clock that the test moves.
struct stepped_stop {
  stepped_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  stop_world it;

  explicit stepped_stop(bool model_throws = false) : it(std::make_shared<unawaited_loop>(system), model_throws) {}
  ~stepped_stop() {
    it.says->stop();
    scheduler.run();
  }
  stepped_stop(const stepped_stop&) = delete;
  stepped_stop& operator=(const stepped_stop&) = delete;
  void passes(milliseconds time) {
    scheduler.advance_time(time);
    scheduler.run();
  }
};

/// The loop is a list; its `stop` drops what waits, as that of the actor does.
struct listed_loop final : step_loop {
  void post(step what) override {
    if (!is_stopped) steps.push_back(std::move(what));
  }
  void after(milliseconds, step what) override {
    if (!is_stopped) later.push_back(std::move(what));
  }
  void stop() override {
    is_stopped = true;
    steps.clear();
    later.clear();
  }
  bool step_once() {
    if (steps.empty()) return false;
    const auto first = std::move(steps.front());
    steps.pop_front();
    first();
    return true;
  }
  std::deque<step> steps, later;
  bool is_stopped = false;
};

} // namespace

TEST_CASE("the words of a model are told with the proof, in either order", "[turns][stop]") {
  stepped_stop w;
  w.it.is_fenced();
  w.passes(0ms);
  CHECK(w.it.states.empty());
  const bool words_first = GENERATE(true, false);
  if (words_first) w.it.model_says("Done.");
  w.it.settles();
  if (!words_first) w.it.model_says("Done.");
  w.passes(0ms);
  CHECK(w.it.states == "words:Done. !");
  CHECK(w.it.open_calls == 0);
  w.passes(1h);
  CHECK(w.it.states == "words:Done. !");
}

TEST_CASE("a model that is silent or throws leaves the stop to a reaction, and harms no later stop", "[turns][stop]") {
  const bool throws = GENERATE(true, false);
  stepped_stop w(throws);
  for (int i = 0; i < 100; ++i) w.it.is_fenced();
  w.passes(0ms);
  w.passes(2500ms);
  CHECK(w.it.open_calls == 0);
  std::string hundred;
  for (int i = 0; i < 100; ++i) hundred += "reaction ";
  CHECK(w.it.states == hundred);
  w.it.states.clear();
  CHECK(w.it.says->place_for({}) != nullptr);
  w.it.settles();
  w.passes(0ms);
  CHECK(w.it.states == std::string(100, '!'));
}

TEST_CASE("a burst of stops opens no more model calls than may be open at once", "[turns][stop]") {
  stepped_stop w;
  for (int i = 0; i < 100; ++i) w.it.is_fenced(); // no step of the loop has run
  w.passes(0ms);
  CHECK(w.it.open_calls == 32);
  w.it.listeners.front()(model_events::finished{});
  w.passes(0ms);
  CHECK(w.it.open_calls == 31);
  w.it.is_fenced(); // the place is free again
  w.it.is_fenced();
  w.passes(0ms);
  CHECK(w.it.open_calls == 32);
  w.passes(2500ms);
  CHECK(w.it.open_calls == 0);
}

TEST_CASE("an answer after the model's time is over changes nothing", "[turns][stop]") {
  stepped_stop w;
  w.it.is_fenced();
  w.passes(0ms);
  w.passes(2500ms);
  CHECK(w.it.states == "reaction ");
  w.it.model_says("Too late.");
  w.passes(0ms);
  w.it.settles();
  w.passes(0ms);
  CHECK(w.it.states == "reaction !");
}

TEST_CASE("the model call after a stop counts once, for who stopped, with what it used until its end",
          "[turns][stop]") {
  stepped_stop w;
  w.it.is_fenced();
  w.passes(0ms);
  CHECK(w.it.counted.empty());
  enum class ends { finished, failed, out_of_time, with_another_model };
  const auto how = GENERATE(ends::finished, ends::failed, ends::out_of_time, ends::with_another_model);
  REQUIRE(w.it.listeners.size() == 1);
  const auto& tell = w.it.listeners[0];
  if (how == ends::with_another_model) tell(model_events::fell_back{"m", "n", {}, {10, 0}});
  if (how == ends::failed)
    tell(model_events::failed{{}, {7, 3}});
  else if (how != ends::out_of_time)
    tell(model_events::finished{model_events::stop::end, {17, 3}});
  w.passes(2500ms);
  w.it.settles();
  tell(model_events::finished{model_events::stop::end, {500, 500}}); // behind its end
  w.passes(1h);
  std::string all;
  for (const auto& one : w.it.counted) {
    CHECK(one.scope.text() == "team");
    CHECK(one.author == "mia");
    CHECK(one.agent == "m");
    all +=
        one.model + " " + std::to_string(one.usage.input_tokens) + "+" + std::to_string(one.usage.output_tokens) + " ";
  }
  const std::map<ends, std::string> expected{{ends::finished, "m 17+3 "},
                                             {ends::failed, "m 7+3 "},
                                             {ends::out_of_time, "m 40+2 "},
                                             {ends::with_another_model, "m 10+0 n 7+3 "}};
  CHECK(all == expected.at(how));
  CHECK(w.it.shown == w.it.counted.size());
}

TEST_CASE("a stop whose budget of the day is used up asks no model, and has its reaction", "[turns][stop]") {
  stepped_stop w;
  w.it.is_fenced();
  w.passes(0ms);
  REQUIRE(w.it.listeners.size() == 1);
  w.it.listeners[0](model_events::finished{model_events::stop::end, {990, 10}}); // all that the day had left
  w.passes(0ms);
  for (int i = 0; i < 40; ++i) w.it.is_fenced();
  w.passes(0ms);
  CHECK(w.it.listeners.size() == 1);
  CHECK(w.it.open_calls == 0);
  w.it.states.clear();
  w.it.settles();
  w.passes(0ms);
  CHECK(std::count(w.it.states.begin(), w.it.states.end(), '!') == 41);
  CHECK(w.it.states.find("words") == std::string::npos);
  CHECK(w.it.says->place_for({}) != nullptr); // no place is lost
}

TEST_CASE("wherever the loop ends, it closes the model's connection and frees every story", "[turns][stop]") {
  for (int at = 0; at < 8; ++at) {
    const auto loop = std::make_shared<listed_loop>();
    stop_world w(loop);
    std::weak_ptr<acknowledger> left = w.says;
    w.is_fenced();
    bool goes_on = true;
    for (int i = 0; i < at && goes_on; ++i) {
      goes_on = loop->step_once();
      if (i == 2 && w.listeners.size() == 1) w.model_says("Done.");
    }
    CAPTURE(at);
    w.says->stop();
    for (const auto& listener : w.listeners) listener(model_events::text{"late"});
    CHECK(w.open_calls == 0);
    CHECK(loop->steps.empty());
    w.says.reset();
    CHECK(left.expired());
  }
}
