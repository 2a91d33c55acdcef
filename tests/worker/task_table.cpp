// The task table: starts, stops at every moment of a task's life, results, hello.
#include <catch2/catch.hpp>

#include "tests/worker/table_fixture.hpp"

using namespace quell;
using namespace quell::test;
using namespace std::chrono_literals;

TEST_CASE("a start is spawned, held, let go, and ends once with its exit", "[table]") {
  table_fixture f;
  f.start_arrives("a", 1);
  CHECK(f.was_spawned("a"));
  CHECK_FALSE(f.was_let_go("a"));
  f.held("a");
  CHECK(f.was_let_go("a"));
  CHECK(f.messages.empty());
  f.executes("a");
  CHECK(std::get<wire::task_started>(f.messages.at(0)).pid == 4242);
  f.dies("a", {3, std::nullopt});
  REQUIRE(f.end_of("a"));
  CHECK(f.end_of("a")->exit == exit_state{3, std::nullopt});
  CHECK(f.end_of("a")->stop_seq == 0);
  CHECK_FALSE(f.end_of("a")->how);
  CHECK(f.end_of("a")->evidence == proof::cgroup_empty);
  CHECK(f.table.slots_used() == 0);
}

TEST_CASE("the result carries the final output counts", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.hears(worker::task_ended_here{f.id("a"), exit_state{0, {}}, table_fixture::force::nothing, proof::cgroup_empty});
  CHECK(f.end_of("a") == nullptr);
  f.output_read("a", {10, 20, 3});
  REQUIRE(f.end_of("a"));
  CHECK(f.end_of("a")->output == output_counts{10, 20, 3});
}

TEST_CASE("a start whose scope was stopped at or above its as_of never starts", "[table]") {
  table_fixture f;
  f.scope_stopped("team", 10);
  f.start_arrives("stale", 10, "team/build");
  CHECK_FALSE(f.was_spawned("stale"));
  REQUIRE(f.end_of("stale"));
  CHECK(f.end_of("stale")->stop_seq == 10);
  CHECK(f.end_of("stale")->how == receipt::never_started);
  CHECK(f.end_of("stale")->evidence == proof::never_ran);
  f.start_arrives("fresh", 11, "team/build");
  CHECK(f.was_spawned("fresh"));
  f.start_arrives("neighbour", 5, "teamwork");
  CHECK(f.was_spawned("neighbour"));
}

TEST_CASE("a start below a stopped ancestor never starts, whatever its as_of", "[table]") {
  table_fixture f;
  f.operation_stopped("root", 10);
  f.start_arrives("child", 99, "team/build", {"parent", "root"});
  CHECK_FALSE(f.was_spawned("child"));
  CHECK(f.end_of("child")->how == receipt::never_started);
}

TEST_CASE("a stop before the task is held means no go", "[table]") {
  table_fixture f;
  f.start_arrives("a", 1);
  f.scope_stopped("team", 5);
  REQUIRE(f.stops.size() == 1);
  CHECK(f.stops[0].kill_at == f.now.boot);
  f.held("a");
  CHECK_FALSE(f.was_let_go("a"));
  f.hears(worker::task_ended_here{f.id("a"), std::nullopt, table_fixture::force::killed, proof::cgroup_empty});
  f.output_read("a");
  CHECK(f.end_of("a")->how == receipt::never_started);
  CHECK(f.end_of("a")->evidence == proof::never_ran);
  CHECK(f.end_of("a")->stop_seq == 5);
}

TEST_CASE("a stop between held and go finds the guardian first", "[table]") {
  table_fixture f;
  f.guardian_gives_go = false; // it ended the task in that instant
  f.start_arrives("a", 1);
  f.held("a");
  f.scope_stopped("team", 5);
  f.hears(worker::task_ended_here{f.id("a"), std::nullopt, table_fixture::force::killed, proof::cgroup_empty});
  f.output_read("a");
  CHECK(f.end_of("a")->how == receipt::never_started);
  CHECK(f.end_of("a")->started_at == wall_time{});
}

TEST_CASE("a task that is stopped between go and exec never shows as running", "[table]") {
  table_fixture f;
  f.start_arrives("a", 1);
  f.held("a");
  f.scope_stopped("team", 5);
  f.executes("a");
  f.hears(worker::task_ended_here{f.id("a"), std::nullopt, table_fixture::force::signalled, proof::cgroup_empty});
  f.output_read("a");
  CHECK(std::none_of(f.messages.begin(), f.messages.end(),
                     [](const auto& m) { return std::holds_alternative<wire::task_started>(m); }));
  CHECK(f.end_of("a")->how == receipt::never_started);
}

TEST_CASE("what ended the task after its stop names the receipt", "[table]") {
  using force = table_fixture::force;
  const auto [sent, how] = GENERATE(table<force, receipt>({{force::nothing, receipt::cooperative},
                                                           {force::cooperative, receipt::cooperative},
                                                           {force::signalled, receipt::terminated},
                                                           {force::killed, receipt::killed}}));
  table_fixture f;
  f.runs("a", 1);
  f.scope_stopped("team", 5);
  f.dies("a", {7, std::nullopt}, sent);
  CHECK(f.end_of("a")->how == how);
  CHECK(f.end_of("a")->stop_seq == 5);
  CHECK(f.end_of("a")->exit == exit_state{7, std::nullopt});
  CHECK(f.end_of("a")->error_code.empty());
}

TEST_CASE("an end heard before the stop is a natural end, even while its output is read", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.hears(worker::task_ended_here{f.id("a"), exit_state{0, {}}, table_fixture::force::nothing, proof::cgroup_empty});
  f.scope_stopped("team", 5);
  CHECK(f.stops.empty());
  f.output_read("a");
  CHECK(f.end_of("a")->stop_seq == 0);
  CHECK_FALSE(f.end_of("a")->how);
}

TEST_CASE("the kill comes a grace after the receipt, the task's own unless the stop says otherwise", "[table]") {
  table_fixture f;
  auto order = f.order("a", 1);
  order.grace = 7s;
  f.start_arrives(order);
  f.held("a");
  f.executes("a");
  f.runs("b", 2);
  f.operation_stopped("a", 5);
  f.operation_stopped("b", 6, 100ms);
  CHECK(f.stops.at(0).kill_at == f.now.boot + 7s);
  CHECK(f.stops.at(1).kill_at == f.now.boot + 100ms);
  const auto& stopping = std::get<wire::task_stopping>(f.messages.at(2));
  CHECK(stopping.kill_at == f.now.wall + 7s);
}

TEST_CASE("a second stop may only bring the kill nearer, and the first stop's seq stays", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.scope_stopped("team", 5, 2s);
  f.pass(500ms);
  f.scope_stopped("team", 5, 2s); // a repeat
  f.scope_stopped("team", 6, 60s);
  CHECK(f.stops.size() == 1);
  f.scope_stopped("team", 7, 0ms);
  REQUIRE(f.stops.size() == 2);
  CHECK(f.stops[1].kill_at == f.now.boot);
  f.dies("a", {std::nullopt, "KILL"}, table_fixture::force::killed);
  CHECK(f.end_of("a")->stop_seq == 5);
}

TEST_CASE("a terminal is hung up first and signalled at half the grace", "[table]") {
  table_fixture f;
  auto order = f.order("a", 1);
  order.spec.pty = true;
  f.start_arrives(order);
  f.held("a");
  f.scope_stopped("team", 5, 2s);
  CHECK(f.hung_up == std::vector{f.id("a")});
  CHECK(f.stops.at(0).signal_at == f.now.boot + 1s);
  f.scope_stopped("team", 6, 1s);
  CHECK(f.stops.at(1).signal_at == f.now.boot + 500ms);
  CHECK(f.hung_up.size() == 1);
}

TEST_CASE("a task that is asked first is signalled at half the grace, and not hung up", "[table]") {
  table_fixture f;
  auto order = f.order("a", 1);
  order.spec.cooperative_stop = true;
  f.start_arrives(order);
  f.held("a");
  f.scope_stopped("team", 5, 2s);
  CHECK(f.hung_up.empty());
  CHECK(f.stops.at(0).signal_at == f.now.boot + 1s);
  CHECK(f.stops.at(0).kill_at == f.now.boot + 2s);
  f.scope_stopped("team", 6, 0ms);
  CHECK(f.stops.at(1).kill_at == f.now.boot);
}

TEST_CASE("with no grace a terminal is killed at once", "[table]") {
  table_fixture f;
  auto order = f.order("a", 1);
  order.spec.pty = true;
  f.start_arrives(order);
  f.held("a");
  f.scope_stopped("team", 5, 0ms);
  CHECK(f.hung_up.empty());
  CHECK(f.stops.at(0).kill_at == f.now.boot);
  CHECK_FALSE(f.stops.at(0).signal_at);
}

TEST_CASE("an absurd grace is bounded", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.scope_stopped("team", 5, milliseconds::max());
  CHECK(f.stops.at(0).kill_at == f.now.boot + 168h);
  f.scope_stopped("team", 6, milliseconds{-5});
  CHECK(f.stops.at(1).kill_at == f.now.boot);
}

TEST_CASE("a limited cutoff takes what it covers and what that has spawned since, not its neighbours", "[table]") {
  table_fixture f;
  f.runs("old", 1);
  f.runs("spawned", 8, "team/build", {"old"});
  f.runs("newer", 9);
  wire::stop s;
  s.seq = 20;
  s.cutoff = 5;
  s.scope = *scope_path::parse("team");
  f.stop_applied(s);
  REQUIRE(f.stops.size() == 2);
  CHECK(f.stops[0].operation == f.id("old"));
  CHECK(f.stops[1].operation == f.id("spawned"));
}

TEST_CASE("what waits for a slot starts when one is free, in order, or never if it is stopped", "[table]") {
  table_fixture f({.slots = 1});
  f.runs("a", 1);
  f.start_arrives("b", 2);
  f.start_arrives("c", 3, "other");
  CHECK_FALSE(f.was_spawned("b"));
  f.scope_stopped("team/build", 10);
  CHECK(f.end_of("b")->how == receipt::never_started);
  f.dies("a", {std::nullopt, "TERM"}, table_fixture::force::signalled);
  CHECK(f.was_spawned("c"));
  CHECK_FALSE(f.was_spawned("b"));
}

TEST_CASE("what has not begun under its lease does not begin under the next one", "[table]") {
  table_fixture f({.slots = 1});
  auto holder = f.order("holder", 10);
  holder.spec.lease = 1h;
  f.start_arrives(holder);
  f.held("holder");
  f.start_arrives("queued", 11);
  auto spawning = f.order("spawning", 12);
  spawning.spec.slots = 0;
  f.start_arrives(spawning);
  auto patient = f.order("patient", 13);
  patient.spec.lease = 1h;
  f.start_arrives(patient);
  f.gone.clear();

  f.pass(11s); // frozen: the queue was not read meanwhile
  worker::effects list;
  f.table.expire_unstarted(f.now, list);
  f.perform(std::move(list));
  f.lease.welcomed(f.now.boot, 10s);
  f.held("spawning");
  f.pump();
  CHECK(f.gone.empty());
  REQUIRE(f.end_of("queued") != nullptr);
  CHECK(f.end_of("queued")->error_code == "worker_lost");
  CHECK(f.end_of("queued")->evidence == proof::never_ran);
  f.hears(worker::task_ended_here{f.id("spawning"), std::nullopt, table_fixture::force::killed, proof::cgroup_empty});
  f.output_read("spawning");
  REQUIRE(f.end_of("spawning") != nullptr);
  CHECK(f.end_of("spawning")->evidence == proof::never_ran);

  f.dies("holder");
  f.held("patient"); // its own lease had not run out
  CHECK(f.gone.size() == 1);
}

TEST_CASE("a task without slots needs no room, one with too many is refused", "[table]") {
  table_fixture f({.slots = 2});
  auto all = f.order("all", 1);
  all.spec.slots = 2;
  f.start_arrives(all);
  auto none = f.order("none", 2);
  none.spec.slots = 0;
  f.start_arrives(none);
  CHECK(f.was_spawned("none"));
  auto many = f.order("many", 3);
  many.spec.slots = 3;
  f.start_arrives(many);
  REQUIRE(f.end_of("many"));
  CHECK(f.end_of("many")->error_code == "start_failed");
}

TEST_CASE("a task that asks for more containment than there is is refused", "[table]") {
  table_fixture f({.level = containment::group});
  auto order = f.order("a", 1);
  order.spec.least_containment = containment::cgroup;
  f.start_arrives(order);
  CHECK(f.end_of("a")->error_code == "start_failed");
  CHECK_FALSE(f.was_spawned("a"));
}

TEST_CASE("a repeated start never runs twice: alive, ended, or long forgotten", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.start_arrives("a", 1);
  f.dies("a");
  f.start_arrives("a", 1);
  f.stored("a");
  CHECK_FALSE(f.table.knows(f.id("a")));
  f.start_arrives("a", 1);
  CHECK(f.spawned.size() == 1);
  CHECK(f.end_reports("a") == 1);
}

TEST_CASE("a result is in every hello until it is stored", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.runs("b", 2);
  f.dies("a", {1, std::nullopt});
  CHECK(f.hello().results.size() == 1);
  CHECK(f.hello().results == f.hello().results);
  f.stored("b"); // not ended: nothing to forget
  f.stored("a");
  CHECK(f.hello().results.empty());
  REQUIRE(f.hello().inventory.size() == 1);
  CHECK(f.hello().inventory[0].operation == f.id("b"));
}

TEST_CASE("an inventory says of each task whether it is held, running or stopping, and by which stop", "[table]") {
  table_fixture f({.slots = 4});
  f.start_arrives("cloning", 1);
  f.runs("running", 2);
  f.runs("stopping", 3, "other");
  f.scope_stopped("other", 9);
  std::map<operation_id, wire::inventory_item> items;
  for (const auto& item : f.hello().inventory) items[item.operation] = item;
  CHECK(items.at(f.id("cloning")).phase == wire::task_phase::held);
  CHECK(items.at(f.id("cloning")).pid == 0);
  CHECK(items.at(f.id("running")).phase == wire::task_phase::running);
  CHECK(items.at(f.id("stopping")).phase == wire::task_phase::stopping);
  CHECK(items.at(f.id("stopping")).stop_seq == 9);
}

TEST_CASE("results that do not fit into a hello stay in its inventory", "[table]") {
  table_fixture f({.slots = 10});
  for (const char* name : {"a", "b", "c"}) {
    f.runs(name, 1);
    f.dies(name);
  }
  wire::hello h;
  const auto later = f.table.describe(h, 1);
  CHECK(h.results.size() == 1);
  CHECK(h.inventory.size() == 2);
  CHECK(later.size() == 2);
}

TEST_CASE("a task that is still there is reported with what comes next", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.scope_stopped("team", 5, 2s);
  f.messages.clear();
  f.pass(600ms);
  worker::effects list;
  f.table.tick(f.now, list);
  f.perform(list);
  CHECK(f.looked.size() == 1);
  f.hears(worker::task_still_there{f.id("a"), unproven_why::in_grace, 3, {{1, "S", "x"}}, std::nullopt});
  const auto in_grace = std::get<wire::task_unproven>(f.messages.at(0));
  CHECK(in_grace.why == unproven_why::in_grace);
  CHECK(in_grace.next == next_action::kill);
  CHECK(in_grace.processes_total == 3);
  f.pass(3s);
  f.hears(worker::task_still_there{f.id("a"), unproven_why::stuck_in_kernel, 1, {}, f.now.boot + 1s});
  const auto stuck = std::get<wire::task_unproven>(f.messages.at(1));
  CHECK(stuck.why == unproven_why::stuck_in_kernel);
  CHECK(stuck.next == next_action::kill_again);
  CHECK(stuck.next_at == f.now.wall + 1s);
}
