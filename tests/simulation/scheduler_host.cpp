// Virtual threads for the turn scheduler: the link to the controller's mailbox, and background reads.
#include "tests/simulation/scheduler_host.hpp"

#include <spdlog/spdlog.h>

#include <map>

#include "actors/turns/mcp_host.hpp"
#include "controller/commands/command.hpp"
#include "tests/simulation/played_models.hpp"
#include "tests/simulation/scheduler_life.hpp"
#include "tests/simulation/virtual_agents.hpp"
#include "tests/simulation/voice_loop.hpp"
#include "tests/simulation/voice_tasks.hpp"

namespace quell::simulation {

using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// One virtual thread for background reads: one job after the other, each takes a moment.
class virtual_executor final : public blocking_executor {
 public:
  virtual_executor(std::shared_ptr<scheduler_life> life, controller::store_reader& store)
      : state_(std::make_shared<state>(std::move(life), store)) {}
  ~virtual_executor() override { stop_now(); }
  virtual_executor(const virtual_executor&) = delete;
  virtual_executor& operator=(const virtual_executor&) = delete;
  void run_after(milliseconds wait, job what) override {
    if (state_->is_stopped) return;
    const instant delay = wait.count() * ms;
    state_->jobs.emplace(state_->life->at.events.now() + delay, std::move(what));
    plan(state_, delay + state_->life->random.between(3, 60) * us);
  }
  void stop() override { stop_now(); }

 private:
  struct state {
    state(std::shared_ptr<scheduler_life> l, controller::store_reader& s) : life(std::move(l)), store(s) {}
    std::shared_ptr<scheduler_life> life;
    controller::store_reader& store;
    std::multimap<instant, job> jobs;
    instant free_at = 0;
    bool is_stopped = false;
  };
  void stop_now() {
    state_->is_stopped = true;
    state_->jobs.clear();
  }
  static void plan(const std::shared_ptr<state>& s, instant delay) {
    later(s->life, delay, [s] { work(s); });
  }
  /// Each job has its own event; each event runs the job that is due first.
  static void work(const std::shared_ptr<state>& s) {
    const auto now = s->life->at.events.now();
    if (s->is_stopped || s->jobs.empty()) return;
    if (now < s->free_at) return plan(s, s->free_at - now);
    const job what = std::move(s->jobs.begin()->second);
    s->jobs.erase(s->jobs.begin());
    s->free_at = now + s->life->random.between(20, 150) * us;
    what(s->store);
  }
  std::shared_ptr<state> state_;
};

/// One virtual thread for the steps of a component.
class virtual_loop final : public step_loop {
 public:
  explicit virtual_loop(std::shared_ptr<scheduler_life> life) : state_(std::make_shared<state>(std::move(life))) {}
  ~virtual_loop() override { stop_now(); }
  virtual_loop(const virtual_loop&) = delete;
  virtual_loop& operator=(const virtual_loop&) = delete;
  void post(step what) override {
    const auto now = state_->life->at.events.now();
    state_->last = std::max(state_->last, now + state_->life->random.between(2, 60) * us); // they come in order
    add(state_->last, std::move(what));
  }
  void after(milliseconds wait, step what) override {
    add(state_->life->at.events.now() + wait.count() * ms + state_->life->random.between(2, 60) * us, std::move(what));
  }
  void stop() override { stop_now(); }

 private:
  struct state {
    explicit state(std::shared_ptr<scheduler_life> l) : life(std::move(l)) {}
    std::shared_ptr<scheduler_life> life;
    std::multimap<instant, step> steps;
    instant last = 0;
    bool is_stopped = false;
  };
  void stop_now() {
    state_->is_stopped = true;
    state_->steps.clear();
  }
  void add(instant at, step what) {
    if (state_->is_stopped) return;
    state_->steps.emplace(at, std::move(what));
    later(state_->life, at - state_->life->at.events.now(), [s = state_] {
      if (s->is_stopped || s->steps.empty()) return;
      const auto first = s->steps.extract(s->steps.begin());
      first.mapped()();
    });
  }
  std::shared_ptr<state> state_;
};

/// No MCP server is configured.
class no_mcp_servers final : public mcp_host {
 public:
  no_mcp_servers() : mcp_host(*mcp_accounts::open("", {}), remote_ids("played")) {}
  void tools(std::vector<std::string>, mcp_user, std::function<void(offered)> done) override { done({}); }
  void when_ready(std::string, operation_id, reach_to, when_known done) override {
    done(nullptr, "no server is played");
  }
  void user_over(operation_id) override {}
  void read_cards() override {}
  void end() override {}
};

/// A message to the controller's actor: it arrives in order, or never if the actor dies.
void to_controller(const std::shared_ptr<scheduler_life>& life, std::function<void(commit_gate&, moment)> what) {
  auto& w = life->at;
  life->last_ask = std::max(life->last_ask, w.events.now() + life->random.between(2, 60) * us);
  w.events.at(life->last_ask, [life, what = std::move(what)] {
    if (!life->is_over && !life->at.failed()) (void)life->at.controller.ask(what);
  });
}

core_link virtual_link(const std::shared_ptr<scheduler_life>& life) {
  core_link link;
  // A continuation after the commit is an effect like others: the process can die just before it.
  link.execute_unless_withdrawn = [life](command_request&& what, std::shared_ptr<order_claim> claim) {
    what.only_if([life] { return life->at.controller.answers(); });
    const auto& given = static_cast<const command_variant&>(what.what());
    if (const auto* end = std::get_if<commands::end_local>(&given)) life->at.callers.end_is_ordered(end->id);
    const auto posted = std::make_shared<command_request>(std::move(what));
    to_controller(life, [posted, claim](commit_gate& c, moment now) {
      if (!claim || claim->take()) c.execute(std::move(*posted), now);
    });
  };
  link.execute = [give = link.execute_unless_withdrawn](command_request&& what) { give(std::move(what), nullptr); };
  const auto ask = [life](commit_gate::question what) {
    to_controller(life, [life, what = std::move(what)](commit_gate& c, moment now) {
      c.ask(
          [&](const commit_gate& gate, moment at) -> std::function<void()> {
            return [life, then = what(gate, at)] {
              if (life->at.controller.answers()) then();
            };
          },
          now);
    });
  };
  link.ask = [ask](std::function<std::function<void()>(const ledger&, moment)> what) {
    ask([what = std::move(what)](const commit_gate& c, moment now) { return what(c.operations(), now); });
  };
  link.knows_worker = [ask](std::string worker, std::function<void(bool)> answer) {
    ask([worker = std::move(worker), answer = std::move(answer)](const commit_gate& c, moment) {
      return [answer, known = c.workers().knows(worker)] { answer(known); };
    });
  };
  link.beyond_disk = [ask](std::vector<operation_id> ids, std::function<void(known_ends)> answer) {
    ask([ids = std::move(ids), answer = std::move(answer)](const commit_gate& c, moment now) {
      known_ends known;
      for (const auto& id : ids)
        if (auto hot = c.beyond_disk(id, now)) known.emplace(id, std::move(*hot));
      return [answer, known = std::move(known)] { answer(known); };
    });
  };
  link.is_low = [life] { return life->at.disk.low(); };
  link.now = [life] { return life->at.controller.now(); };
  return link;
}

} // namespace

const turn_settings& scheduler_host::settings() {
  static const turn_settings made = [] {
    turn_settings s;
    integrations::model_settings model;
    model.name = "played";
    s.models.push_back(model);
    agent_settings main;
    main.name = "main";
    main.model = "played";
    main.budget = {8, 2, 2, 0, 0, 8, milliseconds{60'000}};
    main.workspace = "/work";
    s.agents.push_back(main);
    auto helper = main;
    helper.name = "helper";
    helper.is_only_spawned = true;
    helper.budget.timeout = milliseconds{20'000};
    s.agents.push_back(helper);
    s.timeouts["exec"] = milliseconds{15'000};
    s.approvals.push_back({"exec", "rm *"});
    s.chat.bot_names = {"clanky"};
    s.chat.approvers = {"team:ann", "den:*"};
    return s;
  }();
  return made;
}

scheduler_host::scheduler_host(world& w) : world_(w) { spdlog::set_level(spdlog::level::off); }
scheduler_host::~scheduler_host() { die(); }

void scheduler_host::start() {
  life_ = std::make_shared<scheduler_life>(world_, world_.controller.lives());
  later(life_, life_->random.between(50, 5000) * us, [this] { begin(); });
}

void scheduler_host::begin() {
  reader_ = world_.disk.reader();
  output_ = played_output(life_);
  auto runtime = std::make_shared<agent_runtime>();
  runtime->background_reads = std::make_unique<virtual_executor>(life_, *reader_);
  runtime->priority_reads = std::make_unique<virtual_executor>(life_, *reader_);
  runtime->speech_work = std::make_unique<virtual_executor>(life_, *reader_);
  runtime->core = virtual_link(life_);
  runtime->models = played_models(life_);
  runtime->output = output_.get();
  runtime->settings.set(settings());
  runtime->spawn = [life = life_](actors::agent_start start) { return spawn_virtual_agent(life, std::move(start)); };
  runtime->loop = [life = life_] { return std::make_shared<virtual_loop>(life); };
  runtime->mcp = std::make_shared<no_mcp_servers>();
  scheduler_ = turn_scheduler::make(runtime, std::make_unique<virtual_executor>(life_, *reader_));
  if (world_.plan.voice) begin_voice();
}

void scheduler_host::begin_voice() {
  controller::voice::voice_options o;
  o.settings = world_.callers.settings();
  o.caller_of = [](const std::string& secret) -> result<caller> {
    caller c;
    c.role = role::chat;
    c.owner = {secret, secret};
    c.token_name = c.token_id = "token-of-" + secret;
    return c;
  };
  voice_loop_ = std::make_shared<virtual_voice_loop>(life_);
  auto made = controller::voice::voice_host::start_on(voice_loop_, std::move(o), *scheduler_);
  if (!made) return world_.violate("assertion", "the voice gateway does not start: " + made.error().detail);
  voice_ = std::move(*made);
  world_.callers.opened();
}

bool scheduler_host::connect_voice(integrations::voice::direction as, const std::shared_ptr<voice_peer>& from,
                                   bool is_loopback) {
  return voice_ && world_.controller.is_up() && voice_loop_->connect(as, from, is_loopback);
}

void scheduler_host::die() {
  if (!life_) return;
  life_->is_over = true;
  if (voice_) voice_->stop();
  voice_.reset();
  voice_loop_.reset();
  if (scheduler_) scheduler_->stop();
  scheduler_.reset();
  for (const auto& close : life_->closers) close();
  output_.reset();
  reader_.reset();
  life_.reset();
}

void scheduler_host::signal(const actor_signal& s) {
  if (voice_) voice_->signal(s); // before its turn reports its end
  if (scheduler_) scheduler_->signal(s);
}
void scheduler_host::ended(const ended_operation& e) {
  if (scheduler_) scheduler_->ended(e);
}
void scheduler_host::on_event(const records::event_record& e) {
  if (scheduler_) scheduler_->on_event(e);
  if (voice_) voice_->on_event(e);
}

} // namespace quell::simulation
