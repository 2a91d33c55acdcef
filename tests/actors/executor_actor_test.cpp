// The executor of background reads: on CAF's test coordinator with its clock, and on a thread of its own.
#include "actors/executor_actor.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/actors/ends_process.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::actors;
using namespace std::chrono_literals;

namespace {

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// One message at a time, and a clock that the test moves.
struct stepped_executor {
  stepped_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::shared_ptr<executor_environment> environment = std::make_shared<executor_environment>();
  executor_actor executor;
  std::string done;

  stepped_executor() {
    environment->store = std::make_unique<testing::refusing_store>();
    executor = spawn_executor_actor(system, environment, executor_thread::shared);
  }
  ~stepped_executor() { end(); }
  void end() {
    caf::anon_send_exit(executor, caf::exit_reason::user_shutdown);
    scheduler.run();
  }
  void add(std::chrono::milliseconds wait, const std::string& name) {
    add(wait, [this, name] { done += name; });
  }
  void add(std::chrono::milliseconds wait, const std::function<void()>& what) {
    caf::anon_send(executor, run_job(scheduler.clock().now() + wait, [what](controller::store_reader&) { what(); }));
  }
  std::string after(std::chrono::milliseconds passed) {
    scheduler.advance_time(passed);
    scheduler.run();
    return done;
  }
};

const auto bound = 60s;

} // namespace

TEST_CASE("background reads run in the order of their instants, and those of one instant as they came") {
  stepped_executor w;
  w.add(20ms, "e");
  w.add(10ms, "d");
  w.add(0ms, "a");
  w.add(0ms, "b");
  w.add(0ms, "c");
  CHECK(w.after(0ms) == "abc");
  CHECK(w.after(9ms) == "abc");
  CHECK(w.after(1ms) == "abcd");
  CHECK(w.after(10ms) == "abcde");
}

TEST_CASE("an earlier job overtakes one that is already waited for") {
  stepped_executor w;
  w.add(1h, "late");
  CHECK(w.after(1ms).empty());
  w.add(5ms, "early ");
  CHECK(w.after(5ms) == "early ");
  CHECK(w.after(1h) == "early late");
}

TEST_CASE("a job that is due comes before those that arrived behind it, however long the clock stood") {
  stepped_executor w;
  w.add(10ms, "a");
  w.add(0ms, [&w] { w.scheduler.clock().current_time += 1s; }); // the thread has waited for the disk
  w.add(5ms, "b");
  CHECK(w.after(0ms) == "b");
  CHECK(w.after(0ms) == "ba"); // with the tick of the clock
}

TEST_CASE("a job can add others") {
  stepped_executor w;
  w.add(0ms, [&w] {
    w.done += "1";
    w.add(0ms, "2");
    w.add(3ms, "3");
  });
  CHECK(w.after(0ms) == "12");
  CHECK(w.after(3ms) == "123");
}

TEST_CASE("foreign, doubled and late exits and DOWNs change nothing at an executor, and its own exit ends it") {
  stepped_executor w;
  const auto stranger = w.system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  const auto executor = caf::actor_cast<caf::actor>(w.executor);
  for (int i = 0; i < 2; ++i)
    for (const auto reason : {caf::exit_reason::user_shutdown, caf::exit_reason::remote_link_unreachable}) {
      caf::anon_send(executor, caf::exit_msg{stranger.address(), reason});
      caf::anon_send(executor, caf::down_msg{stranger.address(), reason});
    }
  w.add(5ms, "a");
  CHECK(w.after(5ms) == "a");
  w.end();
  caf::anon_send(executor, caf::down_msg{stranger.address(), caf::exit_reason::kill}); // late
  w.add(0ms, "b");
  CHECK(w.after(1h) == "a");
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("a job that throws ends the process, at once or when the clock has reached it") {
  for (const auto wait : {0ms, 5ms})
    CHECK(testing::ends_process([wait] {
      stepped_executor w;
      w.add(wait, [] { throw std::runtime_error("played"); });
      w.after(5ms);
    }));
}

TEST_CASE("the end of an executor frees the jobs that wait") {
  stepped_executor w;
  auto held = std::make_shared<int>(1);
  w.add(0ms, [] {});
  w.add(1h, [held] {});
  w.after(0ms);
  CHECK(held.use_count() > 1);
  w.end();
  CHECK(held.use_count() == 1);
}

TEST_CASE("nothing runs once an executor is stopped, also what is due") {
  stepped_executor w;
  w.add(0ms, [&w] { w.environment->is_stopped = true; });
  w.add(0ms, "no");
  CHECK(w.after(1h).empty());
}

TEST_CASE("a stop of an executor waits for the job that runs, and for no other") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto executor = spawn_executor(system, std::make_unique<testing::refusing_store>());
  std::promise<void> began, may_end;
  bool is_complete = false, is_second_run = false;
  executor->run([&](controller::store_reader& store) {
    began.set_value();
    REQUIRE(may_end.get_future().wait_for(bound) == std::future_status::ready);
    is_complete = !store.newest_event();
  });
  executor->run([&](controller::store_reader&) { is_second_run = true; });
  executor->run_after(1h, [&](controller::store_reader&) { is_second_run = true; });
  REQUIRE(began.get_future().wait_for(bound) == std::future_status::ready);
  std::thread stopping([&] { executor->stop(); });
  // Once the stop has begun, what is added is dropped at once.
  const auto give_up = std::chrono::steady_clock::now() + bound;
  for (bool is_dropped = false; !is_dropped && std::chrono::steady_clock::now() < give_up;) {
    const auto probe = std::make_shared<int>();
    executor->run([&, probe](controller::store_reader&) { is_second_run = true; });
    is_dropped = probe.use_count() == 1;
  }
  may_end.set_value();
  stopping.join();
  CHECK(is_complete);
  executor->run([&](controller::store_reader&) { is_second_run = true; });
  executor->stop();
  CHECK_FALSE(is_second_run);
}

TEST_CASE("each job of many threads runs once") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto executor = spawn_executor(system, std::make_unique<testing::refusing_store>());
  constexpr int threads = 4, each = 500;
  std::vector<int> runs(threads * each);
  std::promise<void> all;
  int left = threads * each; // on the executor's thread
  std::vector<std::thread> adding;
  for (int t = 0; t < threads; ++t)
    adding.emplace_back([&, t] {
      for (int i = 0; i < each; ++i)
        executor->run_after(std::chrono::milliseconds(i % 3), [&, at = t * each + i](controller::store_reader&) {
          ++runs[static_cast<std::size_t>(at)];
          if (--left == 0) all.set_value();
        });
    });
  for (auto& t : adding) t.join();
  REQUIRE(all.get_future().wait_for(bound) == std::future_status::ready);
  executor->stop();
  CHECK(runs == std::vector<int>(threads * each, 1));
}
