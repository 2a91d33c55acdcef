// The core's actor on CAF's test coordinator: its bursts, its clock, its planned stop, and how it ends.
#include "actors/controller_actor.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "actors/posted_command.hpp"
#include "tests/actors/ends_process.hpp"
#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;
using quell::controller::core_tests::commands_world;
using quell::controller::core_tests::recording_edges;
using quell::testing::ends_process;

namespace {

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// The journal answers on the test's command, and each edge can break.
struct fragile_edges final : commit_gate_edges {
  recording_edges kept;
  bool breaks = false;
  int ticks = 0;

  void touched() const {
    if (breaks) throw std::runtime_error("played");
  }
  std::uint64_t submit(std::vector<records::entry> batch) override {
    touched();
    return kept.submit(std::move(batch));
  }
  void send(const outgoing_frame& frame) override {
    touched();
    kept.send(frame);
  }
  void publish(const records::event_record& event) override { kept.publish(event); }
  void allow_keys(std::vector<std::string>) override {}
  void output_expected(const operation_id&, const std::string&) override {}
  void output_counted(const operation_id&, const std::string&, const output_counts&) override {}
  void output_closes(const operation_id&) override {}
  void refusal_known(std::uint64_t) override {}
  void signal(const actor_signal&) override {}
  void tell_owner(const external_signal&) override {}
  void ended(const ended_operation&) override {}
  bool storage_low() const override { return false; }
  void command_given(const command& what) override {
    touched();
    kept.command_given(what);
  }
  void move_forbidden(const forbidden_move&, std::string_view) override {}
  void ticked(moment) override {
    touched();
    ++ticks;
  }
  void fail_stop(const fault& why) override { kept.fail_stop(why); }
};

struct stepped_controller {
  stepped_config config;
  fragile_edges edges;
  std::string key = std::string(40, 'a');
  commit_gate* gate = nullptr;
  std::shared_ptr<core_activity> activity = std::make_shared<core_activity>();
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  actors::controller_actor actor;
  int answers = 0;

  stepped_controller() {
    actor = spawn_controller(
        system, activity,
        [this](moment now) {
          records::recovered_state empty;
          empty.cluster = cluster_id::fresh();
          empty.epoch = 1;
          records::worker_record w;
          w.name = "w1";
          w.public_key = key;
          empty.workers.push_back(w);
          commit_gate_settings s;
          s.token_for = [](const operation_id&) { return std::string("qt_test"); };
          auto made = std::make_unique<commit_gate>(s, std::move(empty), edges, now);
          gate = made.get();
          return made;
        },
        controller_thread::shared);
    run();
    commits();
  }
  ~stepped_controller() {
    edges.breaks = false;
    ends();
  }
  void ends() {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    run();
  }
  void run() { scheduler.run(); }
  template <class Message>
  void gets(Message what) {
    caf::anon_send(actor, std::move(what));
  }
  void creates(std::shared_ptr<order_claim> claim = nullptr) {
    gets(actors::posted({commands_world::task(),
                         [this](const outcome<created>& made) {
                           REQUIRE(made);
                           ++answers;
                         }},
                        std::move(claim)));
  }
  void hello() {
    wire::hello h;
    h.boot_id = "boot";
    h.state_id = "state";
    h.incarnation = incarnation_id::fresh();
    h.proposed = session_id::fresh();
    h.slots = 4;
    h.level = containment::cgroup_pidns;
    frame({h.proposed, 0, 0, h});
  }
  void frame(wire::envelope what) {
    const auto queue = std::make_shared<actors::frame_queue>();
    actors::arrived_frame f;
    f.route = "route";
    f.public_key = key;
    f.content = std::move(what);
    REQUIRE(queue->put(std::move(f), 100) == actors::frame_queue::outcome::announce);
    gets(actors::frames_arrived{queue});
  }
  /// The journal has written everything; that can submit more.
  void commits() {
    for (std::uint64_t done = 0; done != edges.kept.tickets;) {
      done = edges.kept.tickets;
      gets(actors::batch_committed{done, false, {}, {}});
      run();
    }
  }
  bool lives() {
    int answered = 0;
    gets(actors::ask_core{[&answered](const commit_gate&, moment) {
      ++answered;
      return std::function<void()>();
    }});
    run();
    return answered == 1;
  }
};

} // namespace

TEST_CASE("orders of one burst share a transaction, and are answered once it is on disk") {
  stepped_controller w;
  const auto before = w.edges.kept.batches.size();
  const auto counted = w.activity->count();
  w.creates();
  w.creates();
  w.run();
  CHECK(w.edges.kept.batches.size() == before + 1);
  CHECK(w.answers == 0);
  w.commits();
  CHECK(w.answers == 2);
  CHECK(w.activity->count() > counted);
}

TEST_CASE("an order that was withdrawn before its turn comes is not applied") {
  stepped_controller w;
  const auto claim = std::make_shared<order_claim>();
  w.creates(claim);
  CHECK(claim->take());
  w.run();
  w.commits();
  CHECK(w.answers == 0);
  CHECK(w.gate->operations().live_count() == 0);
}

TEST_CASE("a question is answered at once if nothing waits for the journal, else with it") {
  stepped_controller w;
  int answered = 0;
  const auto ask = [&] {
    w.gets(actors::ask_core{[&answered](const commit_gate&, moment) { return [&answered] { ++answered; }; }});
  };
  ask();
  w.run();
  CHECK(answered == 1);
  w.creates();
  ask();
  w.run();
  CHECK(answered == 1);
  w.commits();
  CHECK(answered == 2);
}

TEST_CASE("a worker that says hello is welcomed, once that is on disk") {
  stepped_controller w;
  w.hello();
  w.run();
  w.commits();
  CHECK(w.edges.kept.count<wire::welcome>() == 1);
}

TEST_CASE("the core is ticked once a second, and a timer that was replaced does nothing") {
  stepped_controller w;
  const auto before = w.edges.ticks;
  w.gets(actors::clock_ticked{0});
  w.run();
  CHECK(w.edges.ticks == before);
  w.scheduler.advance_time(1s);
  w.run();
  CHECK(w.edges.ticks == before + 1);
}

TEST_CASE("a planned stop is over once nothing waits for the journal, and is reported once") {
  stepped_controller w;
  int done = 0;
  w.creates();
  w.run();
  w.gets(actors::shut_down{[&done] { ++done; }});
  w.run();
  CHECK(done == 0);
  w.commits();
  CHECK(done == 1);
  w.commits();
  CHECK(done == 1);
}

TEST_CASE("foreign, doubled and late exits and DOWNs change nothing at the core, and its own exit ends it") {
  stepped_controller w;
  const auto stranger = w.system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  const auto core = caf::actor_cast<caf::actor>(w.actor);
  for (int i = 0; i < 2; ++i)
    for (const auto reason : {caf::exit_reason::user_shutdown, caf::exit_reason::remote_link_unreachable}) {
      caf::anon_send(core, caf::exit_msg{stranger.address(), reason});
      caf::anon_send(core, caf::down_msg{stranger.address(), reason});
    }
  w.run();
  CHECK(w.lives());
  w.ends();
  CHECK_FALSE(w.lives());
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
  w.run();
}

TEST_CASE("a throw in any handler of the core ends the process") {
  const auto after = [](void (*step)(stepped_controller&)) {
    return ends_process([step] {
      stepped_controller w;
      step(w);
      w.run();
    });
  };
  CHECK_FALSE(after([](stepped_controller&) {})); // the means of the test
  CHECK(after([](stepped_controller& w) {         // execute_command
    w.creates();
    w.edges.breaks = true;
  }));
  CHECK(after([](stepped_controller& w) { // ask_core
    w.gets(actors::ask_core{
        [](const commit_gate&, moment) -> std::function<void()> { throw std::runtime_error("played"); }});
  }));
  CHECK(after([](stepped_controller& w) { // frames_arrived: the refusal of a heartbeat leaves at once
    w.frame({session_id::fresh(), 0, 0, wire::worker_heartbeat{}});
    w.edges.breaks = true;
  }));
  CHECK(after([](stepped_controller& w) { // batch_committed
    w.gets(
        actors::posted({commands_world::task(), [](const outcome<created>&) { throw std::runtime_error("played"); }}));
    w.run();
    w.gets(actors::batch_committed{w.edges.kept.tickets, false, {}, {}});
  }));
  CHECK(after([](stepped_controller& w) { // shut_down
    w.commits();
    w.gets(actors::shut_down{[] { throw std::runtime_error("played"); }});
    w.run();
    w.commits();
  }));
  CHECK(after([](stepped_controller& w) { // clock_ticked
    w.edges.breaks = true;
    w.scheduler.advance_time(1s);
  }));
  CHECK(after([](stepped_controller& w) { // burst_over: submits
    w.creates();
    w.scheduler.try_run_once();
    w.edges.breaks = true;
  }));
}
