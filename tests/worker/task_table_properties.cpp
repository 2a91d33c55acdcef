// The task table under random interleavings: the invariants in every order of events.
#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <set>

#include "tests/worker/table_fixture.hpp"

using namespace quell;
using namespace quell::test;
using namespace std::chrono_literals;

namespace {

constexpr int names = 6;

/// Plays controller, guardian and bulk loop at random and checks after every step.
struct random_life {
  table_fixture f{{.slots = 3}};
  std::set<std::string> sent, ended_here, reading, stored, covered;
  std::map<std::string, std::uint64_t> as_of;
  std::map<std::string, std::string> scope;
  std::map<operation_id, boot_time> kill_at;
  std::uint64_t seq = 0;
  std::size_t stops_seen = 0;

  std::string some_task() { return "t" + std::to_string(*rc::gen::inRange(0, names)); }

  void step() {
    switch (*rc::gen::inRange(0, 11)) {
    case 0:
    case 1:
      arrive(some_task());
      break;
    case 2:
      stop_scope();
      break;
    case 3:
      stop_operation(some_task());
      break;
    case 4:
    case 5:
      hold(some_task());
      break;
    case 6:
      end(some_task());
      break;
    case 7:
      read(some_task());
      break;
    case 8:
      store(some_task());
      break;
    case 9:
      f.pass(milliseconds{*rc::gen::inRange(0, 300)});
      f.lease.welcomed(f.now.boot, 10s);
      break;
    case 10:
      f.pump();
      break;
    }
    check();
  }

  void arrive(const std::string& name) {
    if (sent.insert(name).second) {
      as_of[name] = ++seq;
      scope[name] = *rc::gen::element<std::string>("team", "team/a", "team/ab", "other");
    }
    f.start_arrives(name, as_of[name], scope[name]);
  }
  void cover(const std::string& name) {
    if (sent.contains(name) && !ended_here.contains(name)) covered.insert(name);
  }
  void stop_scope() {
    const auto target = *rc::gen::element<std::string>("team", "team/a", "other");
    ++seq;
    for (const auto& name : sent)
      if (scope_path::parse(scope[name])->is_at_or_below(*scope_path::parse(target))) cover(name);
    f.scope_stopped(target, seq, milliseconds{*rc::gen::inRange(0, 1000)});
  }
  void stop_operation(const std::string& name) {
    cover(name);
    f.operation_stopped(name, ++seq, milliseconds{*rc::gen::inRange(0, 1000)});
  }
  void hold(const std::string& name) {
    if (f.was_spawned(name) && !ended_here.contains(name)) {
      const bool before = f.was_let_go(name);
      f.held(name);
      // The go never follows an applied stop that covers the task.
      if (!before && covered.contains(name)) RC_ASSERT(!f.was_let_go(name));
    }
  }
  void end(const std::string& name) {
    if (!f.was_spawned(name) || !ended_here.insert(name).second) return;
    std::optional<exit_state> exit;
    if (f.was_let_go(name)) exit = exit_state{0, std::nullopt};
    const auto sent_force = covered.contains(name) ? table_fixture::force::signalled : table_fixture::force::nothing;
    f.hears(worker::task_ended_here{f.id(name), exit, sent_force, proof::cgroup_empty});
    reading.insert(name);
  }
  void read(const std::string& name) {
    if (reading.erase(name) > 0) f.output_read(name, {1, 2, 0});
  }
  void store(const std::string& name) {
    if (f.end_of(name)) {
      f.stored(name);
      stored.insert(name);
    }
  }

  void check() {
    for (; stops_seen < f.stops.size(); ++stops_seen) {
      const auto& s = f.stops[stops_seen];
      const auto [it, fresh] = kill_at.try_emplace(s.operation, s.kill_at);
      if (!fresh) {
        RC_ASSERT(s.kill_at <= it->second);
        it->second = s.kill_at;
      }
    }
    RC_ASSERT(f.table.slots_used() <= 3U);
    const auto hello = f.hello();
    std::set<operation_id> known;
    for (const auto& item : hello.inventory) RC_ASSERT(known.insert(item.operation).second);
    for (const auto& r : hello.results) RC_ASSERT(known.insert(r.operation).second);
    for (const auto& name : sent) {
      RC_ASSERT(f.end_reports(name) <= 1U);
      RC_ASSERT(std::count(f.spawned.begin(), f.spawned.end(), f.id(name)) <= 1);
      // Every task that was ever accepted is in every hello until its result is stored.
      RC_ASSERT(known.contains(f.id(name)) != stored.contains(name));
      const auto* e = f.end_of(name);
      if (e && covered.contains(name)) RC_ASSERT(e->stop_seq != 0U);
      if (e && e->stop_seq == 0) RC_ASSERT(!e->how);
      if (e && e->stop_seq != 0) RC_ASSERT(e->how.has_value());
    }
  }

  void finish() {
    for (int round = 0; round < 3; ++round)
      for (int i = 0; i < names; ++i) {
        const auto name = "t" + std::to_string(i);
        f.pump();
        hold(name);
        end(name);
        read(name);
      }
    for (const auto& name : sent) RC_ASSERT(f.end_reports(name) == 1U);
    RC_ASSERT(f.table.live() == 0U);
  }
};

} // namespace

TEST_CASE("whatever comes in whatever order: no go after a stop, one end each, the kill never later, no result lost",
          "[table]") {
  const bool held = rc::check("random lives", [] {
    random_life life;
    const int steps = *rc::gen::inRange(1, 80);
    for (int i = 0; i < steps; ++i) life.step();
    life.finish();
  });
  CHECK(held);
}
