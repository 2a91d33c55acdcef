// Reply and tool actors on CAF's test coordinator: one message at a time, in the order that the test chooses. Actors
// that throw, exits that are late, doubled or foreign, and stops at every point.
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "actors/agent_actor.hpp"
#include "actors/interfaces.hpp"
#include "tests/actors/turn_world.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::testing;

namespace {

struct played_config : caf::actor_system_config {
  played_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// The ledger, a model and tools, all of which answer at once. The n-th call of it can throw.
class played_port final : public agent_port {
 public:
  class stream final : public model_stream {
   public:
    explicit stream(played_port& of) : of_(of) {}
    void hang_up(std::function<void()> closed) override {
      of_.touched();
      closed();
    }
    model_usage used() const override { return {}; }

   private:
    played_port& of_;
  };
  class work final : public tool_work {
   public:
    explicit work(played_port& of) : of_(of) { ++of_.works; }
    ~work() override { --of_.works; }
    void start(std::function<void(work_end)> done) override {
      of_.touched();
      if (of_.tools_break) throw std::runtime_error("a tool that breaks");
      if (!of_.tools_wait) return done({true, "\"done\""});
      done_ = std::move(done);
      if (is_stopped_) finish();
    }
    void stop(const std::string&) override {
      of_.touched();
      is_stopped_ = true;
      if (done_) finish();
    }

   private:
    void finish() { std::exchange(done_, nullptr)({false, "\"stopped\"", true}); }
    played_port& of_;
    std::function<void(work_end)> done_;
    bool is_stopped_ = false;
  };

  tool_traits traits(const tool_call& call) override { return traits_of(call); }
  void input_changed(const tool_call&) override {}
  void expect_request(const conversation&) override {}
  std::vector<user_message> take_steering() override { return {}; }
  void open_model_call(std::uint32_t, answer<result<operation_id>> done) override {
    touched();
    done(operation_id::fresh());
  }
  std::unique_ptr<model_stream> ask_model(conversation, std::function<void(model_event)> listener) override {
    touched();
    listener(model_events::text{"Well."});
    if (++requested == 1)
      for (const auto* name : {"slow", "fast"}) listener(model_events::call{{std::string("c-") + name, name, "{}"}});
    listener(model_events::finished{});
    return std::make_unique<stream>(*this);
  }
  void close_model_call(const operation_id&, std::optional<fault>, const model_usage&) override { touched(); }
  void close_last_model_call(const operation_id&, std::optional<fault>, const model_usage&) override { touched(); }
  void store_answer(const assistant_message& what, const std::vector<tool_traits>&, const model_usage&,
                    answer<result<std::vector<operation_id>>> done) override {
    touched();
    std::vector<operation_id> ids;
    for (std::size_t i = 0; i < what.calls.size(); ++i) ids.push_back(operation_id::fresh());
    calls.insert(calls.end(), ids.begin(), ids.end());
    done(ids);
  }
  void begin_call(const operation_id& call, answer<bool> done) override {
    touched();
    done(results.count(call) == 0);
  }
  void close_call(const operation_id& call, const tool_result& what, answer<tool_result> done) override {
    touched();
    done(results.emplace(call, what).first->second); // the first result stands
  }
  void time_out_call(const operation_id& call, const tool_result& what, answer<tool_result> done) override {
    close_call(call, what, std::move(done));
  }
  void ask_human(const operation_id&, const tool_call&, const std::string&) override { touched(); }
  std::unique_ptr<tool_work> work_for(const operation_id&, const tool_call&, const turn&) override {
    touched();
    return std::make_unique<work>(*this);
  }
  void say(const operation_id&, const tool_call&, const agent_news&) override { touched(); }
  void say_text(std::uint64_t, const std::string&, std::function<void()> done) override {
    touched();
    done();
  }
  void say_thinking(std::uint64_t, const std::string&, std::function<void()> done) override { done(); }
  void say_model_note(const model_note&) override {}
  void end(const turn_effects::end& how, const std::optional<last_answer>&, std::uint64_t,
           std::function<void()> done) override {
    touched();
    ends.push_back(how);
    done();
  }

  void touched() {
    if (++touches == throws_at) throw std::runtime_error("as planned");
  }

  int throws_at = 0, touches = 0, requested = 0, works = 0;
  bool tools_wait = false, tools_break = false;
  std::vector<operation_id> calls;
  std::map<operation_id, tool_result> results;
  std::vector<turn_effects::end> ends;
};

class actor_world {
 public:
  actor_world() : system_(config_), scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {}
  ~actor_world() {
    if (agent_) caf::anon_send_exit(agent_, caf::exit_reason::user_shutdown);
    run();
    agent_ = nullptr;
  }

  void begin() {
    agent_start start;
    start.texts = std::make_shared<plain_texts>();
    start.port = port;
    start.clock = [this] { return now; };
    start.so_far = {user_message{"do it"}};
    start.over = [this](bool broken) { overs.push_back(broken); };
    agent_ = spawn_agent_actor(system_, std::move(start));
  }
  bool step() { return scheduler_.try_run_once(); }
  void run() {
    for (int i = 0; i < 10'000 && step(); ++i) {
    }
  }
  void stop() { caf::anon_send<caf::message_priority::high>(agent_, cancel_now{abort_reason::user, "enough"}); }
  /// An exit that claims to come from this actor.
  void exits(const caf::actor_addr& source, caf::error why) {
    caf::anon_send(caf::actor_cast<caf::actor>(agent_), caf::exit_msg{source, std::move(why)});
  }
  caf::actor stranger() {
    return system_.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  }
  caf::actor_addr agent_address() const { return agent_.address(); }

  std::shared_ptr<played_port> port = std::make_shared<played_port>();
  boot_time now{1'000'000'000};
  std::vector<bool> overs; ///< one for each report of the end: whether it broke

 private:
  played_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  agent_actor agent_;
};

} // namespace

TEST_CASE("an agent actor with two tools answers, and ends once") {
  actor_world w;
  w.begin();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  CHECK(w.port->requested == 2);
  CHECK(w.port->results.size() == 2);
  CHECK(w.port->works == 0);
}

TEST_CASE("whatever throws first, in an agent or in a tool, ends that actor alone, and the end is told once") {
  int broken = 0, survived = 0;
  for (int n = 1;; ++n) {
    actor_world w;
    w.port->throws_at = n;
    w.begin();
    w.run();
    CAPTURE(n);
    if (w.port->touches < n) break;
    REQUIRE(w.overs.size() == 1);
    CHECK(w.port->works == 0); // a dead agent takes its tools along
    ++(w.overs[0] ? broken : survived);
    if (w.overs[0]) continue;
    CHECK(w.port->requested == 2);
    for (const auto& call : w.port->calls) CHECK(w.port->results.count(call) == 1);
  }
  CHECK(broken > 5);
  CHECK(survived > 1);
}

TEST_CASE("a tool whose work throws ends its call as interrupted, and the turn goes on") {
  actor_world w;
  w.port->tools_break = true;
  w.begin();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  CHECK(w.port->requested == 2);
  REQUIRE(w.port->results.size() == 2);
  for (const auto& [call, result] : w.port->results) {
    CHECK_FALSE(result.ok);
    CHECK(result.result == "\"interrupted\"");
  }
}

TEST_CASE("foreign, doubled and late exits change nothing") {
  actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  REQUIRE(w.port->works == 2);
  const auto stranger = w.stranger();
  for (int i = 0; i < 2; ++i) w.exits(stranger.address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs.empty());
  CHECK(w.port->works == 2);
  w.stop();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  CHECK(w.port->works == 0);
  w.exits(stranger.address(), caf::sec::runtime_error); // late: it is gone
  w.run();
  CHECK(w.overs.size() == 1);
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("an exit that is meant for the agent ends it, with its tools") {
  actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  REQUIRE(w.port->works == 2);
  w.exits(w.agent_address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(w.port->works == 0);
}

TEST_CASE("a stop between any two messages ends an agent actor once, and everything below it") {
  for (const bool waits : {false, true})
    for (int at = 0;; ++at) {
      actor_world w;
      w.port->tools_wait = waits;
      w.begin();
      bool goes_on = true;
      for (int i = 0; i < at && goes_on; ++i) goes_on = w.step();
      CAPTURE(at, waits);
      w.stop();
      w.stop(); // twice is once
      w.run();
      CHECK(w.overs == std::vector<bool>{false});
      CHECK(w.port->works == 0);
      CHECK(w.port->ends.size() == 1);
      for (const auto& call : w.port->calls) CHECK(w.port->results.count(call) == 1);
      if (!goes_on) break;
      REQUIRE(at < 1000);
    }
}
