// Figures, not promises, except for the memory of an idle operation: run with `test_controller "[.bench]"`.
#include <catch2/catch.hpp>
#include <cstdio>
#include <ctime>
#include <malloc.h>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

double heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

/// CPU time of this thread: the figures must not depend on what else runs here.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Work>
double ns_per(std::size_t count, const Work& work) {
  const double begin = cpu_ns();
  work();
  return (cpu_ns() - begin) / static_cast<double>(count);
}

/// A ledger and ids without the fixture's store, whose rows would count, too.
struct bare {
  moment now{wall_time{milliseconds{1'790'000'000'000}}, boot_time{1'000'000'000}};
  std::unique_ptr<ledger> core = ledger::make({}, {}, now);
  std::uint64_t made = 0;

  operation_id fresh() {
    std::array<std::uint8_t, 10> random{};
    std::uint64_t mixed = ++made * 0x9e3779b97f4a7c15ULL;
    for (std::size_t i = 0; i < 8; ++i) random[2 + i] = static_cast<std::uint8_t>(mixed >> (8 * i));
    return {make_uuid7(now.wall, random)};
  }
  void create(std::size_t count) {
    create_order o;
    o.by.owner = {"alice", "Alice"};
    o.scope = in("team/build");
    o.task.command = {"true"};
    o.title = "idle";
    for (std::size_t i = 0; i < count; ++i) {
      if (!core->create(o, fresh(), now)) FAIL("a create was refused");
      if (i % 100 == 99) core->take();
    }
    core->take();
  }
  cancel_view cancel(records::cancel_target target) {
    cancel_order o;
    o.target = std::move(target);
    auto c = core->cancel(o, {fresh().bytes}, now);
    core->take();
    return *c;
  }
};

void measure(std::size_t count) {
  bare b;
  const double before = heap_bytes();
  const double create = ns_per(count, [&] { b.create(count); });
  malloc_trim(0);
  const double bytes = (heap_bytes() - before) / static_cast<double>(count);
  cancel_view c;
  const double cancel = ns_per(1, [&] { c = b.cancel(records::target_scope{in("team/build")}); });
  b.core->cancel_fenced(c.record.id, true, b.now);
  b.core->take();
  double longest = 0;
  const double step = ns_per(count, [&] {
    for (bool more = true; more;) {
      longest = std::max(longest, ns_per(1, [&] {
                           more = b.core->step(b.now);
                           b.core->take();
                         }));
    }
  });
  std::printf(
      "%8zu pending: create %6.0f ns, %5.0f bytes each; cancel of the scope %8.0f ns; rolled out %6.0f ns each, "
      "longest step %6.0f us\n",
      count, create, bytes, cancel, step, longest / 1000);
  CHECK(b.core->live_count() == 0);
  CHECK(bytes < 350);
}

} // namespace

TEST_CASE("an idle operation costs less than 350 bytes, a cancel the same for 10 as for 1,000,000", "[.bench]") {
  for (const std::size_t count : {std::size_t{10'000}, std::size_t{100'000}, std::size_t{1'000'000}}) measure(count);
}

TEST_CASE("a task's whole life in the ledger", "[.bench]") {
  bare b;
  constexpr std::size_t count = 100'000;
  const double each = ns_per(count, [&] {
    create_order o;
    o.scope = in("s");
    o.task.command = {"true"};
    for (std::size_t i = 0; i < count; ++i) {
      const auto made = b.core->create(o, b.fresh(), b.now);
      b.core->assign(made->id, "w1", b.now);
      b.core->started("w1", {made->id, 1, b.now.wall, containment::cgroup}, b.now);
      wire::task_ended m;
      m.operation = made->id;
      m.exit = exit_state{0, {}};
      m.started_at = m.ended_at = b.now.wall;
      b.core->ended("w1", m, b.now);
      b.core->take();
    }
  });
  std::printf("create, assign, started, ended: %.0f ns\n", each);
  CHECK(b.core->live_count() == 0);
}

TEST_CASE("a cancel up to a number among 100,000 live operations", "[.bench]") {
  constexpr std::size_t count = 100'000;
  for (const std::uint64_t up_to : {1, 50'000, 99'000}) {
    bare b;
    b.create(count);
    cancel_order o;
    o.target = records::target_scope{in("team/build")};
    o.up_to_seq = up_to;
    outcome<cancel_view> c;
    const double cancel = ns_per(1, [&] { c = b.core->cancel(o, {b.fresh().bytes}, b.now); });
    std::printf("up to %llu of %zu: %.0f us, covers %llu\n", static_cast<unsigned long long>(up_to), count,
                cancel / 1000, static_cast<unsigned long long>(c->record.report.operations));
  }
}

TEST_CASE("a heartbeat of a session of 100,000 live operations", "[.bench]") {
  constexpr std::size_t count = 100'000;
  bare b;
  create_order o;
  o.kind = kind::external;
  o.scope = in("team/build");
  o.external = {milliseconds{60'000}, "runtime"};
  for (std::size_t i = 0; i < count; ++i) {
    if (!b.core->create(o, b.fresh(), b.now)) FAIL("a create was refused");
    if (i % 100 == 99) b.core->take();
  }
  renewal_answer answer;
  const double beat = ns_per(1, [&] { answer = b.core->externals()->heartbeat({{}, {}, "runtime"}, b.now); });
  CHECK(answer.renewed == count);
  std::printf("a heartbeat of %zu: %.0f us\n", count, beat / 1000);
}

TEST_CASE("the ends of 2,000 operations below 1,000 overlapping cancels of one scope", "[.bench]") {
  constexpr std::size_t cancels = 1'000, each = 2;
  bare b;
  std::vector<cancel_id> open;
  for (std::size_t i = 0; i < cancels; ++i) {
    b.create(each);
    open.push_back(b.cancel(records::target_scope{in("team/build")}).record.id);
  }
  for (const auto& id : open) b.core->cancel_fenced(id, true, b.now);
  b.core->take();
  const double ends = ns_per(cancels * each, [&] {
    while (b.core->step(b.now)) b.core->take();
    b.core->take();
  });
  CHECK(b.core->live_count() == 0);
  std::printf("an end below %zu overlapping cancels on average: %.0f us\n", cancels / 2, ends / 1000);
}
