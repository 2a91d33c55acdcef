// The loop of a component: on CAF's test coordinator with its clock, and on real threads.
#include "actors/step_actor.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace quell;
using namespace quell::actors;
using namespace std::chrono_literals;

namespace {

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// One message at a time, and a clock that the test moves.
struct stepped_loop {
  stepped_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::shared_ptr<controller::turns::step_loop> loop = spawn_step_loop(system);
  std::string done;

  ~stepped_loop() { ends(); }
  void ends() {
    loop.reset();
    scheduler.run();
  }
  void post(const std::string& name) {
    loop->post([this, name] { done += name; });
  }
  void after(milliseconds wait, const std::string& name) {
    loop->after(wait, [this, name] { done += name; });
  }
  std::string passes(milliseconds time) {
    scheduler.advance_time(time);
    scheduler.run();
    return done;
  }
};

const auto bound = 60s;

} // namespace

TEST_CASE("steps run in the order in which they came, and later ones at their instants") {
  stepped_loop w;
  w.after(20ms, "d");
  w.after(10ms, "c");
  w.post("a");
  w.post("b");
  CHECK(w.passes(0ms) == "ab");
  CHECK(w.passes(9ms) == "ab");
  CHECK(w.passes(1ms) == "abc");
  CHECK(w.passes(10ms) == "abcd");
}

TEST_CASE("a step can post others, also for later") {
  stepped_loop w;
  w.loop->post([&w] {
    w.post("2");
    w.after(3ms, "3");
    w.done += "1";
  });
  CHECK(w.passes(0ms) == "12");
  CHECK(w.passes(3ms) == "123");
}

TEST_CASE("a step that throws, now or later, ends only itself") {
  stepped_loop w;
  w.loop->post([] { throw std::runtime_error("played"); });
  w.loop->post([] { throw 7; });
  w.loop->after(5ms, [] { throw std::runtime_error("played"); });
  w.post("a");
  w.after(5ms, "b");
  w.after(6ms, "c");
  CHECK(w.passes(0ms) == "a");
  CHECK(w.passes(10ms) == "abc");
}

TEST_CASE("foreign, doubled and late exits and DOWNs change nothing at a loop, and its own end ends it") {
  stepped_loop w;
  const auto stranger = w.system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  w.scheduler.run();
  w.post("a");
  const auto actor = caf::actor_cast<caf::actor>(w.scheduler.next_job<caf::scheduled_actor>().address());
  for (int i = 0; i < 2; ++i)
    for (const auto reason : {caf::exit_reason::user_shutdown, caf::exit_reason::remote_link_unreachable}) {
      caf::anon_send(actor, caf::exit_msg{stranger.address(), reason});
      caf::anon_send(actor, caf::down_msg{stranger.address(), reason});
    }
  w.post("b");
  w.after(5ms, "c");
  CHECK(w.passes(0ms) == "ab");
  CHECK(w.passes(5ms) == "abc");
  w.ends();
  caf::anon_send(actor, caf::down_msg{stranger.address(), caf::exit_reason::kill}); // late
  CHECK(w.passes(1h) == "abc");
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("the end of a loop frees the steps that wait") {
  stepped_loop w;
  const auto held = std::make_shared<int>(1);
  w.loop->after(1h, [held] {});
  w.loop->post([held] {});
  w.passes(0ms);
  CHECK(held.use_count() == 2);
  w.loop->post([held] {});
  w.ends();
  CHECK(held.use_count() == 1);
}

TEST_CASE("a stop of a loop waits for the step that runs, and for no other") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto loop = spawn_step_loop(system);
  std::promise<void> began, may_end;
  bool is_complete = false, is_second_run = false;
  loop->post([&] {
    began.set_value();
    is_complete = may_end.get_future().wait_for(bound) == std::future_status::ready;
  });
  loop->post([&] { is_second_run = true; });
  loop->after(1h, [&] { is_second_run = true; });
  REQUIRE(began.get_future().wait_for(bound) == std::future_status::ready);
  std::thread stopping([&] { loop->stop(); });
  // Once the stop has begun, what is posted is dropped at once.
  const auto give_up = std::chrono::steady_clock::now() + bound;
  for (bool is_dropped = false; !is_dropped && std::chrono::steady_clock::now() < give_up;) {
    const auto probe = std::make_shared<int>();
    loop->post([&, probe] { is_second_run = true; });
    is_dropped = probe.use_count() == 1;
  }
  may_end.set_value();
  stopping.join();
  CHECK(is_complete);
  loop->post([&] { is_second_run = true; });
  loop->stop();
  CHECK_FALSE(is_second_run);
}

TEST_CASE("the steps of many threads run one at a time, each once") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto loop = spawn_step_loop(system);
  constexpr int threads = 4, each = 500;
  std::vector<int> runs(threads * each);
  std::promise<void> all;
  int left = threads * each; // in the loop
  std::vector<std::thread> posting;
  for (int t = 0; t < threads; ++t)
    posting.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        const auto step = [&, at = t * each + i] {
          ++runs[static_cast<std::size_t>(at)];
          if (--left == 0) all.set_value();
        };
        i % 3 == 0 ? loop->after(milliseconds{1}, step) : loop->post(step);
      }
    });
  for (auto& t : posting) t.join();
  REQUIRE(all.get_future().wait_for(bound) == std::future_status::ready);
  loop->stop();
  CHECK(runs == std::vector<int>(threads * each, 1));
}
