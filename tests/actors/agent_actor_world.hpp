// Agent actors, their scopes and their supervisor on CAF's test coordinator: one message at a time, in the order that
// the test chooses.
#pragma once

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "actors/agent_actor.hpp"
#include "actors/interfaces.hpp"
#include "actors/scope_actor.hpp"
#include "actors/supervisor_actor.hpp"
#include "tests/actors/turn/turn_world.hpp"

namespace quell::testing {

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
    explicit work(played_port& of) : of_(of) {
      ++of_.works;
      of_.last_work = this;
    }
    ~work() override {
      --of_.works;
      if (of_.last_work == this) of_.last_work = nullptr;
    }
    work(const work&) = delete;
    work& operator=(const work&) = delete;
    void start(step_poster, std::function<void(work_end)> done) override {
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
    void finish() { std::exchange(done_, nullptr)({false, "\"stopped\"", true}); }

   private:
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
  std::unique_ptr<model_stream> ask_model(conversation, step_poster,
                                          std::function<void(model_event)> listener) override {
    touched();
    listener(model_events::text{"Well."});
    if (++requested == 1)
      for (const auto& name : tools) listener(model_events::call{{"c-" + name, name, "{}"}});
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
  std::vector<std::string> tools{"slow", "fast"}; ///< that its first answer calls
  work* last_work = nullptr;                      ///< that lives
  std::vector<operation_id> calls;
  std::map<operation_id, tool_result> results;
  std::vector<turn_effects::end> ends;
};

/// The supervisor, its scopes and their agents; the test sees each actor as it is started.
class agent_actor_world {
 public:
  agent_actor_world()
      : system_(config_), scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
    const agent_maker make_agent = [this](caf::scheduled_actor& above, std::shared_ptr<agent_start> start) {
      if (breaks_at_begin) throw std::runtime_error("a scope that breaks");
      agents.push_back(spawn_agent_actor(above, std::move(start)));
      return agents.back();
    };
    core_ = system_.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
    supervisor_ = spawn_supervisor(system_, caf::actor_cast<controller_actor>(core_),
                                   [this, make_agent](caf::scheduled_actor& above, const supervisor_actor& supervisor) {
                                     if (makes_no_scope) throw std::runtime_error("no scope");
                                     scopes.push_back(spawn_scope(above, supervisor, make_agent));
                                     return scopes.back();
                                   });
  }
  ~agent_actor_world() {
    core_ends(caf::exit_reason::user_shutdown);
    ends();
    run();
  }

  void begin() {
    first_ = begin(port, [this](bool broken) {
      overs.push_back(broken);
      if (when_over) when_over(broken);
    });
  }
  std::shared_ptr<agent_handle> begin(std::shared_ptr<played_port> with, std::function<void(bool)> over,
                                      const std::string& scope = "team") {
    agent_start start;
    start.texts = std::make_shared<plain_texts>();
    start.port = std::move(with);
    start.clock = [this] {
      if (clock_breaks) throw std::runtime_error("no clock");
      return now;
    };
    start.so_far = {user_message{"do it"}};
    start.over = [over = std::move(over)](agent_exit how) { over(how == agent_exit::died); };
    return spawn_agent(supervisor_, scope_path::parse(scope).value(), std::move(start));
  }
  bool step() { return scheduler_.try_run_once(); }
  void run() {
    for (int i = 0; i < 10'000 && step(); ++i) {
    }
  }
  /// Runs until the first agent's actor is there.
  void run_to_agent() {
    while (agents.empty() && step()) {
    }
  }
  /// Runs the first agent and nobody else, until it has nothing to do.
  void run_agent_alone() {
    while (scheduler_.prioritize(agents.front())) step();
  }
  agent_handle& first() { return *first_; }
  void stop() { first_->stop(abort_reason::user, "enough"); }
  void passes(std::chrono::nanoseconds time) {
    now = now + time;
    scheduler_.advance_time(std::chrono::duration_cast<caf::actor_clock::duration_type>(time));
    run();
  }
  void core_ends(caf::exit_reason why) { caf::anon_send_exit(core_, why); }
  /// The end of the process.
  void ends() { caf::anon_send_exit(supervisor_, caf::exit_reason::user_shutdown); }
  /// The first agent gets an exit that claims to come from this actor.
  void exits(const caf::actor_addr& source, caf::error why) { exits(agents.at(0), source, std::move(why)); }
  template <class Handle>
  void exits(const Handle& who, const caf::actor_addr& source, caf::error why) {
    caf::anon_send(caf::actor_cast<caf::actor>(who), caf::exit_msg{source, std::move(why)});
  }
  template <class Handle>
  void dies(const Handle& who) {
    exits(who, who.address(), caf::sec::runtime_error);
  }
  caf::actor stranger() {
    return system_.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  }
  caf::actor_addr agent_address() const { return agents.at(0).address(); }
  const supervisor_actor& supervisor() const { return supervisor_; }
  std::size_t running() { return system_.registry().running(); }

  std::shared_ptr<played_port> port = std::make_shared<played_port>();
  boot_time now{1'000'000'000};
  std::vector<bool> overs; ///< one for each report of the end: whether it broke
  std::function<void(bool broken)> when_over;
  std::vector<scope_actor> scopes;
  std::vector<agent_actor> agents;
  bool breaks_at_begin = false; ///< a scope throws when an agent begins
  bool makes_no_scope = false;  ///< the supervisor throws when a scope begins
  bool clock_breaks = false;    ///< an agent throws when it looks at the clock, which every handler does

 private:
  played_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  caf::actor core_;
  supervisor_actor supervisor_;
  std::shared_ptr<agent_handle> first_;
};

} // namespace quell::testing
