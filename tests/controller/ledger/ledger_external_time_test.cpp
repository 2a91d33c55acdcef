// External operations and time: leases, the bound of a stop, restarts; and all of these in any order.
#include <map>

#include <rapidcheck.h>

#include "tests/controller/ledger/externals_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("a silent owner's operation ends ten seconds after its grace, unconfirmed, and what it says then is late") {
  externals_world w;
  w.external("far", {.grace = milliseconds{1000}});
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.collect();
  REQUIRE(w.owner_signals.size() == 1);
  CHECK(w.owner_signals.front().grace == milliseconds{1000});
  CHECK(w.owner_signals.front().kill_at == w.now.wall + milliseconds{1000});
  const auto look = w.core->view_cancel(c.record.id, w.now)->unproven.at(0);
  CHECK(look.why == unproven_why::awaiting_owner);
  CHECK(look.next == next_action::settle_unconfirmed);
  CHECK(look.next_at == w.now.wall + milliseconds{11'000});
  w.waits(milliseconds{10'900});
  CHECK(w.status_of("far") == "cancelling");
  w.waits(milliseconds{200});
  CHECK(w.status_of("far") == "cancelled");
  CHECK(how_of(w, "far") == receipt::unconfirmed);
  CHECK(w.count(c, proof::none) == 1);
  CHECK_FALSE(w.core->view_cancel(c.record.id, w.now)->proven);
  if (GENERATE(false, true)) w.restart(); // a later life has no rows of ended operations
  w.core->externals()->note_late_report({w.id("far"), owner_word::complete, R"({"x":1})", {}}, w.now);
  w.collect();
  CHECK(w.row("far").now == status::cancelled);
  CHECK(w.row("far").late.find(R"("report":"complete")") != std::string::npos);
  const auto first = w.row("far").late;
  w.core->externals()->note_late_report({w.id("far"), owner_word::stopped, {}, {}}, w.now);
  w.collect();
  CHECK(w.row("far").late == first);
}

TEST_CASE("work whose owner fell silent is not proven by a restart that comes while its children live") {
  externals_world w;
  w.external("lost", {.lease = milliseconds{5000}});
  w.child("below", "lost");
  w.runs("below", "w1");
  w.waits(milliseconds{6000});
  REQUIRE(w.row("lost").self_status == status::failed);
  w.restart();
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.collect();
  w.dies("below");
  w.roll_out();
  w.collect();
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(how_of(w, "lost") == receipt::unconfirmed);
  CHECK(w.row("lost").stop->evidence == proof::none);
  CHECK(w.count(c, receipt::unconfirmed) == 1);
}

TEST_CASE("a second cancel with a smaller grace tells the owner again, one with a larger grace does not") {
  for (const bool same_target : {true, false}) {
    CAPTURE(same_target);
    externals_world w;
    w.external("a", {.grace = milliseconds{60'000}});
    (void)w.cancel_scope("s");
    w.roll_out();
    w.collect();
    const auto again = [&](milliseconds grace) {
      auto o = same_target ? w.order(records::target_scope{in("s")}) : w.order(records::target_operation{w.id("a")});
      o.grace = grace;
      (void)w.core->cancel(o, w.next_cancel(), w.now);
      w.roll_out();
      w.collect();
    };
    again(milliseconds{120'000});
    CHECK(w.owner_signals.size() == 1);
    again(milliseconds{500});
    REQUIRE(w.owner_signals.size() == 2);
    CHECK(w.owner_signals.back().kill_at == w.now.wall + milliseconds{500});
    CHECK(w.owner_signals.back().reason == w.owner_signals.front().reason);
    CHECK(w.row("a").stop->kill_at == w.owner_signals.back().kill_at);
    again(milliseconds{400'000});
    CHECK(w.owner_signals.size() == 2);
    w.waits(milliseconds{10'600});
    CHECK(w.status_of("a") == "cancelled");
  }
}

TEST_CASE("a missed lease fails the work and stops its children; heartbeats of one, of many and of a session keep it") {
  externals_world w;
  w.external("single", {.lease = milliseconds{5000}, .session = "r1"});
  w.external("listed", {.lease = milliseconds{5000}});
  w.external("lost", {.lease = milliseconds{5000}});
  w.external("queued", {.later = true, .lease = milliseconds{5000}});
  w.external("below", {.below = "lost"});
  w.external("forever");
  for (int i = 0; i < 4; ++i) {
    w.waits(milliseconds{3000});
    CHECK(w.beat({"listed"}).renewed == 1);
    CHECK(w.beat({}, "r1").renewed == 1);
  }
  CHECK(w.status_of("single") == "running");
  CHECK(w.status_of("listed") == "running");
  CHECK(w.status_of("forever") == "running");
  CHECK(w.core->view(w.id("single"), w.now)->lease_expires_at == w.now.wall + milliseconds{5000});
  CHECK_FALSE(w.core->view(w.id("forever"), w.now)->lease_expires_at);
  CHECK(w.status_of("queued") == "failed");
  CHECK(w.row("queued").error->code == "heartbeat_lost");
  CHECK(w.row("below").stop->cause == stop_cause::parent_ended);
  w.waits(milliseconds{8000}); // the child's bound
  CHECK(w.status_of("lost") == "failed");
  CHECK(w.row("lost").error->code == "heartbeat_lost");
  CHECK(w.status_of("below") == "cancelled");
  CHECK(w.beat({"lost"}).unknown == std::vector<operation_id>{w.id("lost")});
}

TEST_CASE("a heartbeat of a session names the first lease of what still works, and who joins later has its own") {
  externals_world w;
  w.external("short", {.lease = milliseconds{5000}, .session = "r"});
  w.external("long", {.lease = milliseconds{20'000}, .session = "r"});
  CHECK(w.beat({}, "r").lease_expires_at == w.now.wall + milliseconds{5000});
  CHECK(w.complete("short").empty());
  CHECK(w.beat({}, "r").lease_expires_at == w.now.wall + milliseconds{20'000});
  w.waits(milliseconds{3000});
  w.external("late", {.lease = milliseconds{5000}, .session = "r"});
  w.waits(milliseconds{4000});
  CHECK(w.status_of("late") == "running");
  w.waits(milliseconds{2000});
  CHECK(w.status_of("late") == "failed");
  CHECK(w.status_of("long") == "running");
  CHECK(w.complete("long").empty());
  CHECK(w.beat({}, "r").renewed == 0);
  CHECK_FALSE(w.beat({}, "r").lease_expires_at);
}

TEST_CASE("a lease that is missed while it is being stopped ends as unconfirmed") {
  externals_world w;
  w.external("a", {.lease = milliseconds{1000}, .grace = milliseconds{60'000}});
  w.cancels("a");
  w.waits(milliseconds{1500});
  CHECK(w.status_of("a") == "cancelled");
  CHECK(how_of(w, "a") == receipt::unconfirmed);
  CHECK(w.row("a").stop->evidence == proof::none);
}

TEST_CASE("after a restart, and after this process stood still, every owner has time to come back") {
  externals_world w;
  w.external("short", {.lease = milliseconds{1000}, .session = "r"});
  w.external("long", {.lease = milliseconds{60'000}, .session = "r"});
  w.external("stopping", {.lease = milliseconds{40'000}, .session = "r", .grace = milliseconds{20'000}});
  w.external("queued", {.later = true, .session = "r"});
  w.cancels("stopping");
  w.owner_signals.clear();
  w.now.wall += milliseconds{3'600'000};
  w.now.boot = w.now.boot + milliseconds{3'600'000};
  w.restart();
  w.waits(milliseconds{29'500});
  CHECK(w.status_of("short") == "running");
  CHECK(w.status_of("queued") == "pending");
  CHECK(w.core->view(w.id("queued"), w.now)->waiting->what == "start");
  CHECK(w.status_of("stopping") == "cancelling");
  const auto signals = w.core->externals()->signals_of("r", {}, w.now);
  REQUIRE(signals.size() == 1);
  CHECK(signals.front().operation == w.id("stopping"));
  CHECK(signals.front().reason == "wrong branch");
  CHECK(signals.front().grace == milliseconds{20'000});
  w.waits(milliseconds{1000});
  CHECK(w.status_of("short") == "failed");
  CHECK(w.status_of("stopping") == "cancelled");
  CHECK(w.status_of("long") == "running");
  // Its host slept: heartbeats can be queued after the tick.
  w.now.boot = w.now.boot + milliseconds{3'600'000};
  w.core->externals()->was_stalled(w.now);
  w.waits(milliseconds{59'000});
  CHECK(w.status_of("long") == "running");
  CHECK(w.start("queued").empty());
  w.waits(milliseconds{2000});
  CHECK(w.status_of("long") == "failed");
}

TEST_CASE("any order of reports, cancels, silence and restarts ends everything once, and no report contradicts a row") {
  REQUIRE(rc::check([] {
    externals_world w;
    std::vector<std::string> names;
    std::map<std::string, std::vector<std::string>> in_session; // oldest first
    const int steps = *rc::gen::inRange(5, 40);
    const auto any = [&]() -> std::string {
      return names[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(names.size())))];
    };
    for (int i = 0; i < steps; ++i) {
      const int what = names.empty() ? 0 : *rc::gen::inRange(0, 14);
      const std::string fresh = "e" + std::to_string(i);
      if (what <= 2) {
        external_options o;
        o.later = *rc::gen::arbitrary<bool>();
        o.lease = milliseconds{*rc::gen::element(0, 1000, 8000)};
        o.session = *rc::gen::element<std::string>("", "r1", "r2");
        o.edge = *rc::gen::element(on_parent_end::cancel, on_parent_end::wait, on_parent_end::detach);
        if (!names.empty() && *rc::gen::arbitrary<bool>()) o.below = any();
        if (!w.try_external(fresh, o).empty()) continue;
        names.push_back(fresh);
        in_session[o.session].push_back(fresh);
        continue;
      }
      if (what == 3) (void)w.start(any());
      if (what == 4) (void)w.complete(any());
      if (what == 5) (void)w.fail(any());
      if (what == 6) (void)w.stopped(any());
      if (what == 7) w.waits(milliseconds{*rc::gen::element(500, 2000, 13'000)});
      if (what == 8) (void)w.beat({any()}, "r1");
      if (what == 9) w.cancels(any(), milliseconds{*rc::gen::element(0, 2000)});
      if (what == 10) (void)w.cancel_scope("s");
      if (what == 11) w.restart();
      if (what >= 12) {                 // a session is answered as a whole exactly as each of its operations is
        (void)w.beat(in_session["r1"]); // what ends by being told of its stop has ended
        const auto whole = w.beat({}, "r1");
        const auto each = w.beat(in_session["r1"]);
        RC_ASSERT(whole.renewed == each.renewed);
        RC_ASSERT(whole.lease_expires_at == each.lease_expires_at);
        RC_ASSERT(whole.cancels.size() == each.cancels.size());
        for (std::size_t c = 0; c < each.cancels.size(); ++c)
          RC_ASSERT(whole.cancels[c].operation == each.cancels[c].operation);
      }
      w.collect();
    }
    (void)w.cancel_scope("s");
    w.roll_out();
    w.collect();
    w.waits(milliseconds{13'000});
    if (!w.store.broken.empty()) RC_FAIL(w.store.broken.front());
    for (const auto& name : names) {
      RC_ASSERT(is_terminal(w.row(name).now));
      RC_ASSERT(w.store.terminal_events.at(w.id(name)) == 1);
      if (w.row(name).now == status::cancelled) RC_ASSERT(w.row(name).stop->how.has_value());
    }
    RC_ASSERT(w.core->live_count() == 0U);
    for (const auto& [id, c] : w.store.cancels) {
      RC_ASSERT(c.status == cancel_status::settled);
      std::uint64_t receipts = 0;
      for (const auto n : c.report.receipts) receipts += n;
      RC_ASSERT(receipts == c.report.operations);
    }
  }));
}
