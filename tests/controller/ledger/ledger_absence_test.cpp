// The absence of a task from its worker's hello, which alone proves nothing.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

/// A task that runs at `level`; its worker has not answered its cancel and comes back without it.
struct missing_task : world {
  cancel_view cancel;

  explicit missing_task(std::optional<containment> level) {
    task("doomed", in("s"));
    REQUIRE(place("doomed", "w1"));
    if (level) core->started("w1", {id("doomed"), 4242, now.wall, *level}, now);
    take();
    cancel = cancel_scope("s");
    roll_out();
  }
  void comes_back(containment now_at, bool absence_is_proof, bool same_life = false) {
    wire::hello h;
    h.level = now_at;
    h.absence_is_proof = absence_is_proof;
    core->reconcile("w1", h, same_life, now);
    take();
    roll_out();
  }
};

} // namespace

TEST_CASE("what a worker does not know is unconfirmed where its guardian was killed and no namespace held it") {
  const auto level = GENERATE(containment::group, containment::cgroup);
  const bool same_life = GENERATE(false, true);
  missing_task w(level);
  w.comes_back(level, false, same_life);
  CHECK(w.status_of("doomed") == "cancelled");
  CHECK(w.row("doomed").stop->how == receipt::unconfirmed);
  CHECK(w.row("doomed").stop->evidence == proof::none);
  CHECK(w.report(w.cancel).status == cancel_status::settled);
  CHECK(w.report(w.cancel).report.receipts[static_cast<std::size_t>(receipt::unconfirmed)] == 1);
}

TEST_CASE("what a worker does not know is gone where its guardian ended by itself") {
  missing_task w(containment::group);
  w.comes_back(containment::group, true);
  CHECK(w.row("doomed").stop->how == receipt::killed);
  CHECK(w.row("doomed").stop->evidence == proof::group_empty);
}

TEST_CASE("a namespace ends with its init, whoever killed the guardian") {
  const auto level = GENERATE(containment::pidns, containment::cgroup_pidns);
  missing_task w(level);
  w.comes_back(containment::group, false);
  CHECK(w.row("doomed").stop->how == receipt::killed);
  CHECK(w.row("doomed").stop->evidence == (level == containment::pidns ? proof::pidns_gone : proof::cgroup_empty));
}

TEST_CASE("the level at which a task began counts, not the one that its worker has now") {
  missing_task w(containment::group);
  w.comes_back(containment::cgroup_pidns, false);
  CHECK(w.row("doomed").stop->evidence == proof::none);
}

TEST_CASE("a task of unknown level, sent to a life that is over, is not proven by a level of the next one") {
  missing_task w(std::nullopt);
  w.comes_back(containment::cgroup_pidns, false);
  CHECK(w.row("doomed").stop->how == receipt::unconfirmed);
}

TEST_CASE("an uncancelled task that its worker does not know fails and says what is not known") {
  world w;
  w.task("free", in("s"));
  REQUIRE(w.place("free", "w1"));
  w.core->started("w1", {w.id("free"), 4242, w.now.wall, containment::group}, w.now);
  wire::hello h;
  h.level = containment::group;
  w.core->reconcile("w1", h, false, w.now);
  w.take();
  CHECK(w.status_of("free") == "failed");
  CHECK(w.row("free").error->code == "worker_lost");
  CHECK(w.row("free").error->message.find("guardian was killed") != std::string::npos);
}

TEST_CASE("work that was lost unseen stays so for a cancel that comes while its children live") {
  enum class crash { never, before_the_cancel, after_the_cancel };
  const auto crashes = GENERATE(crash::never, crash::before_the_cancel, crash::after_the_cancel);
  world w;
  w.task("lost", in("s"));
  w.child("child", "lost", on_parent_end::cancel);
  REQUIRE(w.place("lost", "w1"));
  w.core->started("w1", {w.id("lost"), 4242, w.now.wall, containment::group}, w.now);
  w.runs("child", "w2");
  wire::hello h;
  h.level = containment::group;
  w.core->reconcile("w1", h, false, w.now);
  w.take();
  REQUIRE(w.status_of("lost") == "running"); // its child is being stopped
  if (crashes == crash::before_the_cancel) w.restart();
  const auto c = w.cancel_scope("s");
  w.roll_out();
  if (crashes == crash::after_the_cancel) w.restart();
  w.roll_out();
  w.dies("child");
  w.roll_out();
  CHECK(w.row("lost").stop->how == receipt::unconfirmed);
  CHECK(w.row("lost").stop->evidence == proof::none);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::unconfirmed) == 1);
}

TEST_CASE("a worker that is declared dead takes along what its tasks have started elsewhere") {
  world w;
  w.task("parent", in("s"));
  w.runs("parent", "w1");
  w.child("elsewhere", "parent");
  w.child("queued", "elsewhere");
  w.runs("elsewhere", "w2");
  w.child("own", "parent");
  w.runs("own", "w1");
  w.stops.clear();
  CHECK(w.core->declare_worker_dead("w1", "host burnt", w.now) == 2);
  w.take();
  const auto reaches = [&](const std::string& worker) {
    return std::any_of(w.stops.begin(), w.stops.end(), [&](const stop_order& o) {
      return o.workers == std::vector<std::string>{worker} &&
             o.message.operations == std::vector<operation_id>{w.id("parent")};
    });
  };
  CHECK(reaches("w2"));
  w.roll_out();
  CHECK(w.status_of("elsewhere") == "cancelling");
  CHECK(w.status_of("queued") == "cancelled");
  w.dies("elsewhere");
  CHECK(w.status_of("elsewhere") == "cancelled");
  CHECK(w.status_of("parent") == "failed");
  CHECK(w.core->live_count() == 0);
}

TEST_CASE("work that is dead by rule stays so for a cancel that comes while its children live") {
  const bool crashes = GENERATE(false, true);
  world w;
  w.task("lost", in("s"));
  w.child("child", "lost", on_parent_end::cancel);
  w.runs("lost", "w1");
  w.runs("child", "w2");
  w.core->lease_expired(
      "w1", [&](auto) { return w.now.boot; }, w.now);
  w.take();
  REQUIRE(w.row("lost").self_status == status::failed);
  if (crashes) w.restart();
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.dies("child");
  w.roll_out();
  CHECK(w.row("lost").stop->evidence == proof::lease_expired);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, proof::lease_expired) == 1);
  CHECK(w.count(c, proof::exit_status) == 0);
}
