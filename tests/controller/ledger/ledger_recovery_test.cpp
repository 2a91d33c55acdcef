// The ledger's state after a restart. (Crashes at every batch of random histories: ledger_model_test.cpp.)
#include <catch2/catch.hpp>

#include "controller/ledger/spec_blob.hpp"
#include "tests/controller/ledger/externals_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("a cancel that was accepted is finished by the next life, with the same sums") {
  world w;
  w.task("done", in("s"));
  w.task("queued", in("s"));
  w.task("running", in("s"));
  w.task("beside", in("t"));
  w.runs("done", "w1");
  w.runs("running", "w1");
  const auto c = w.cancel_scope("s");
  w.exits("done", 0);
  w.restart();
  CHECK(w.status_of("queued") == "cancelling");
  CHECK(w.status_of("running") == "cancelling");
  CHECK(w.status_of("beside") == "pending");
  CHECK_FALSE(w.place("queued", "w1"));
  const auto view = w.core->view_cancel(c.record.id, w.now);
  REQUIRE(view);
  CHECK(view->unproven_total == 2);
  CHECK(view->record.report.operations == 3);
  w.roll_out();
  w.stops.clear();
  auto h = w.hello();
  h.inventory = {{w.id("running"), wire::task_phase::running, 4242, w.now.wall, 0}};
  w.core->reconcile("w1", h, true, w.now);
  w.take();
  REQUIRE(w.stops.size() == 1);
  CHECK(w.stops[0].message.seq == c.record.seq);
  w.applied("w1", c);
  CHECK(w.report(c).status == cancel_status::signalled);
  w.dies("running");
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::already_finished) == 1);
  CHECK(w.count(c, receipt::never_started) == 1);
  CHECK(w.count(c, receipt::terminated) == 1);
}

TEST_CASE("queued work is placed again after a restart, running work is adopted, numbers never go back") {
  world w;
  w.task("queued", in("s"));
  w.task("running", {.scope = in("s"), .timeout = milliseconds{5000}});
  w.runs("running", "w1");
  const auto seq = w.core->last_seq();
  w.placeable.clear();
  w.restart();
  CHECK(w.placeable == std::vector<operation_id>{w.id("queued")});
  CHECK(w.status_of("running") == "running");
  CHECK(w.core->last_seq() >= seq);
  CHECK(w.core->slots_on("w1") == 1);
  w.pass(milliseconds{5000});
  CHECK(w.row("running").stop->cause == stop_cause::timeout);
  REQUIRE(w.place("queued", "w2"));
}

TEST_CASE("progress is told at most once a second, and settled cancels are forgotten but for a while") {
  world w;
  for (int i = 0; i < 3; ++i) {
    w.task("t" + std::to_string(i), in("s"));
    w.runs("t" + std::to_string(i), "w1");
  }
  const auto c = w.cancel_scope("s");
  const auto progress = [&] {
    return std::count_if(w.store.events.begin(), w.store.events.end(),
                         [](const auto& e) { return e.type == event_type::cancel_progress; });
  };
  w.dies("t0");
  w.pass(milliseconds{500});
  CHECK(progress() == 0);
  w.pass(milliseconds{500});
  CHECK(progress() == 1);
  w.pass(milliseconds{5000});
  CHECK(progress() == 1);
  w.dies("t1");
  w.pass(milliseconds{1});
  CHECK(progress() == 2);
  w.dies("t2");
  CHECK(w.core->open_cancels(w.now).empty());
  CHECK(w.core->view_cancel(c.record.id, w.now)->record.status == cancel_status::settled);
  std::vector<std::string> types;
  for (const auto& e : w.store.events)
    if (e.cancel == c.record.id && !e.operation) types.emplace_back(text_of(e));
  CHECK(types == std::vector<std::string>{"cancel_fenced", "cancel_progress", "cancel_progress", "cancel_signalled",
                                          "cancel_settled"});
}

TEST_CASE("scopes that keep only a cutoff are not among the live ones, nor are namesakes below a scope") {
  world w;
  w.task("a", in("team/build"));
  w.task("b", in("team-2/build"));
  w.cancel_scope("team-1");
  w.cancel_scope("team/idle");
  const auto named = [&](const std::optional<scope_path>& prefix, listed_scopes which,
                         const scope_path* after = nullptr) {
    std::vector<std::string> names;
    for (const auto& s : w.core->scopes(prefix, which, after, 100)) names.push_back(s.scope.text());
    return names;
  };
  using texts = std::vector<std::string>;
  CHECK(named({}, listed_scopes::live) == texts{"team", "team-2", "team-2/build", "team/build"});
  CHECK(named(in("team"), listed_scopes::live) == texts{"team", "team/build"});
  CHECK(named(in("team"), listed_scopes::all) == texts{"team", "team/build", "team/idle"});
  const scope_path own = in("team"), deep = in("team/build");
  CHECK(named(own, listed_scopes::all, &own) == texts{"team/build", "team/idle"});
  CHECK(named(own, listed_scopes::all, &deep) == texts{"team/idle"});
  CHECK(named(in("nobody"), listed_scopes::live).empty());
  w.cancel_task("a");
  w.roll_out();
  CHECK(named(in("team"), listed_scopes::live).empty());
  CHECK(named(in("team"), listed_scopes::all) == texts{"team/idle"});
  w.task("c", in("team/idle"));
  CHECK(named(in("team"), listed_scopes::live) == texts{"team", "team/idle"});
  CHECK(w.core->branches({.what = branches_of::scope, .operation = {}, .scope = in("team"), .after = {}, .limit = 9})
            .scopes.size() == 1);
}

TEST_CASE("scopes are listed with what lives in and below them") {
  world w;
  w.task("a", in("team/build"));
  w.task("b", in("team/build/x"));
  w.task("c", in("team/builder"));
  w.cancel_scope("idle");
  w.cancel_scope("team/build/x");
  const auto all = w.core->scopes({}, listed_scopes::all, nullptr, 100);
  REQUIRE(all.size() == 5);
  CHECK(all[0].scope == in("idle"));
  CHECK(all[1].scope == in("team"));
  CHECK(all[1].live == 3);
  CHECK(all[1].cancelling == 1);
  const auto below = w.core->scopes(in("team/build"), listed_scopes::live, nullptr, 100);
  REQUIRE(below.size() == 2);
  CHECK(below[1].scope == in("team/build/x"));
  const scope_path after = in("team");
  CHECK(w.core->scopes({}, listed_scopes::live, &after, 1).at(0).scope == in("team/build"));
  w.roll_out();
  CHECK(w.core->live_by_status().at("pending") == 2);
}

TEST_CASE("a task's spec survives its compact form") {
  task_spec spec;
  spec.command = {"sh", "-c", std::string(1000, 'x'), ""};
  spec.cwd = "/srv";
  spec.env = {{"A", "1"}, {"B", ""}};
  spec.pty = true;
  spec.stop_signal = "INT";
  spec.leader_exit = on_leader_exit::kill;
  spec.lease = milliseconds{7 * 24 * 3600 * 1000};
  CHECK(live::spec_blob(spec).decode() == spec);
  spec.cwd.reset();
  spec.lease.reset();
  spec.stdin_open = true;
  spec.stop_signal = "TERM";
  CHECK(live::spec_blob(spec).decode() == spec);
  spec.memory_bytes = 1ULL << 40;
  spec.pids = 4'194'304;
  spec.cpu_millis = 1500;
  spec.secrets = {{"A", std::string("\0\x80sealed", 8)}, {"B", std::string(100'000, 'b')}};
  CHECK(live::spec_blob(spec).decode() == spec);
}

TEST_CASE("a tighter cancel that was answered holds after a crash, for workers that come back and for owners") {
  externals_world w;
  w.task("far", {.scope = in("s"), .grace = milliseconds{60'000}});
  w.runs("far", "w1");
  w.external("owned", {.grace = milliseconds{60'000}});
  const auto first = w.cancel_scope("s");
  w.roll_out();
  auto again = w.order(records::target_scope{in("s")});
  again.grace = milliseconds{100};
  CHECK(w.cancel(again).record.outcome == cancel_outcome::joined);
  w.restart();
  w.stops.clear();
  auto h = w.hello();
  h.inventory = {{w.id("far"), wire::task_phase::running, 4242, w.now.wall, 0}};
  w.core->reconcile("w1", h, true, w.now);
  w.take();
  REQUIRE_FALSE(w.stops.empty());
  CHECK(
      std::any_of(w.stops.begin(), w.stops.end(), [](const auto& s) { return s.message.grace == milliseconds{100}; }));
  w.pass(milliseconds{10'200}); // the shorter grace and the bound
  CHECK(w.status_of("owned") == "cancelled");
  CHECK(w.count(first, receipt::unconfirmed) == 1);
}

TEST_CASE("a cancel of nothing that crashes before its fence is settled by the next life, with times and events") {
  world w;
  const auto view = w.core->cancel(w.order(records::target_scope{in("s")}), w.next_cancel(), w.now);
  REQUIRE(view);
  w.take(); // committed; the process dies before the notice arrives
  w.restart();
  const auto& row = w.store.cancels.at(view->record.id);
  CHECK(row.status == cancel_status::settled);
  CHECK(row.report.fenced_ms);
  CHECK(row.report.signalled_ms);
  CHECK(row.report.settled_ms);
  std::vector<std::string> types;
  for (const auto& e : w.store.events) types.emplace_back(text_of(e));
  CHECK(types == std::vector<std::string>{"cancel_fenced", "cancel_signalled", "cancel_settled"});
  w.restart();
  CHECK(w.store.events.size() == 3);
}

TEST_CASE("a worker is told a cancel that was called signalled while it was silent, after a crash too") {
  world w;
  w.task("there", in("s"));
  w.task("elsewhere", in("s"));
  w.runs("there", "w1");
  w.runs("elsewhere", "w2");
  w.reach["w1"].reachable = false;
  const auto c = w.cancel_scope("s");
  w.applied("w2", c);
  REQUIRE(w.report(c).status == cancel_status::signalled);
  const bool crashes = GENERATE(false, true);
  if (crashes) w.restart();
  w.stops.clear();
  auto h = w.hello();
  h.inventory = {{w.id("there"), wire::task_phase::running, 4242, w.now.wall, 0}};
  w.core->reconcile("w1", h, true, w.now);
  w.take();
  REQUIRE(w.stops.size() == 1);
  CHECK(w.stops[0].workers == std::vector<std::string>{"w1"});
  CHECK(w.stops[0].message.cancel == c.record.id);
}
