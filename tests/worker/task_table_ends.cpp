// The task table: ends without an order: lease over, failed starts, a dead guardian, a leaving worker.
#include <catch2/catch.hpp>

#include "tests/worker/table_fixture.hpp"

using namespace quell;
using namespace quell::test;
using namespace std::chrono_literals;

TEST_CASE("nothing is let go when the lease is over", "[table]") {
  table_fixture f({.slots = 1});
  f.start_arrives("held", 1);
  f.start_arrives("queued", 2);
  f.pass(10s);
  f.held("held");
  CHECK(f.gone.empty());
  f.hears(worker::task_ended_here{f.id("held"), std::nullopt, table_fixture::force::killed, proof::cgroup_empty});
  f.output_read("held");
  for (const char* name : {"held", "queued"}) {
    REQUIRE(f.end_of(name));
    CHECK(f.end_of(name)->error_code == "worker_lost");
    CHECK(f.end_of(name)->evidence == proof::never_ran);
  }
}

TEST_CASE("a task that the guardian killed without a stop of ours is lost", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.pass(12s);
  f.dies("a", {std::nullopt, "KILL"}, table_fixture::force::killed);
  CHECK(f.end_of("a")->error_code == "worker_lost");
  CHECK(f.end_of("a")->error_message == "the lease ran out: no contact with the controller for 12 s");
  CHECK(f.end_of("a")->stop_seq == 0);
}

TEST_CASE("a task that fails at one of its limits says so; one that succeeds or is stopped does not", "[table]") {
  table_fixture f;
  const auto ends = [&](const char* name, exit_state exit) {
    f.hears(worker::task_ended_here{f.id(name), exit, table_fixture::force::nothing, proof::cgroup_empty, "it hit it"});
    f.output_read(name);
  };
  for (const char* name : {"killed", "failed", "done"}) f.runs(name, 1);
  f.runs("stopped", 2);
  f.operation_stopped("stopped", 9);
  ends("killed", {std::nullopt, "KILL"});
  ends("failed", {3, std::nullopt});
  ends("done", {0, std::nullopt});
  ends("stopped", {std::nullopt, "KILL"});
  CHECK(f.end_of("killed")->error_message == "killed by signal KILL: it hit it");
  CHECK(f.end_of("killed")->error_code == "error");
  CHECK(f.end_of("failed")->error_message == "exited with code 3: it hit it");
  CHECK(f.end_of("done")->error_code.empty());
  CHECK(f.end_of("stopped")->error_code.empty());
}

TEST_CASE("a task that exceeds what it may use is ended soon, and says why", "[table]") {
  using namespace std::chrono_literals;
  table_fixture f;
  const auto exceeds = [&](const char* name) {
    worker::effects list;
    f.table.exceed(f.id(name), "this workspace is full", f.now, list);
    f.perform(std::move(list));
  };
  for (const char* name : {"full", "stopped", "done"}) f.runs(name, 1);
  f.operation_stopped("stopped", 9);
  f.dies("done");
  f.stops.clear();
  for (const char* name : {"full", "full", "stopped", "done", "unknown"}) exceeds(name);
  REQUIRE(f.stops.size() == 1); // once, and only what runs
  CHECK(f.stops[0].operation == f.id("full"));
  CHECK(f.stops[0].kill_at <= f.now.boot + 2s);
  CHECK_FALSE(f.stops[0].signal_at);
  f.dies("full", {std::nullopt, "TERM"}, table_fixture::force::signalled);
  CHECK(f.end_of("full")->error_code == "workspace_full");
  CHECK(f.end_of("full")->error_message == "this workspace is full");
  CHECK(f.end_of("full")->stop_seq == 0);
  CHECK(f.end_of("full")->exit == exit_state{std::nullopt, "TERM"});
}

TEST_CASE("a stop that comes while a task is ended for what it used is a stop", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  worker::effects list;
  f.table.exceed(f.id("a"), "this workspace is full", f.now, list);
  f.perform(std::move(list));
  f.operation_stopped("a", 9);
  f.dies("a", {std::nullopt, "KILL"}, table_fixture::force::killed);
  CHECK(f.end_of("a")->stop_seq == 9);
  CHECK(f.end_of("a")->error_code.empty());
}

TEST_CASE("what a leader leaves behind is killed by option, and that is not a loss", "[table]") {
  table_fixture f;
  auto order = f.order("a", 1);
  order.spec.leader_exit = on_leader_exit::kill;
  f.start_arrives(order);
  f.held("a");
  f.dies("a", {0, std::nullopt}, table_fixture::force::killed);
  CHECK(f.end_of("a")->error_code.empty());
  CHECK(f.end_of("a")->exit == exit_state{0, std::nullopt});
}

TEST_CASE("what a leader left behind is told, but not of a task that was stopped", "[table]") {
  table_fixture f;
  for (const char* name : {"a", "b"}) {
    f.runs(name, 1);
    if (name[0] == 'b') f.operation_stopped("b", 9);
    worker::task_ended_here end{f.id(name), exit_state{0, std::nullopt}};
    end.left_total = 3;
    end.left = {{12, "S", "sleep 1000"}};
    f.hears(end);
    f.output_read(name);
  }
  CHECK(f.end_of("a")->left_total == 3);
  CHECK(f.end_of("a")->left == std::vector<process_view>{{12, "S", "sleep 1000"}});
  CHECK(f.end_of("b")->left_total == 0);
  CHECK(f.end_of("b")->left.empty());
}

TEST_CASE("an exec that fails is a failed start with its code; stopped before, it is cancelled", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.hears(worker::task_exec_failed{f.id("a"), 127, "nosuch: not found"});
  f.runs("b", 2);
  f.hears(worker::task_exec_failed{f.id("b"), 127, "nosuch: not found"});
  f.operation_stopped("b", 9);
  f.dies("a", {127, std::nullopt});
  f.dies("b", {127, std::nullopt});
  CHECK(f.end_of("a")->error_code == "start_failed");
  CHECK(f.end_of("a")->error_message == "nosuch: not found");
  CHECK(f.end_of("a")->exit == exit_state{127, std::nullopt});
  CHECK(f.end_of("b")->error_code.empty());
  CHECK(f.end_of("b")->stop_seq == 9);
}

TEST_CASE("a spawn that fails is a failed start", "[table]") {
  table_fixture f;
  f.start_arrives("a", 1);
  f.hears(worker::task_spawn_failed{f.id("a"), "chdir /nowhere: no such directory"});
  f.output_read("a");
  REQUIRE(f.end_of("a"));
  CHECK(f.end_of("a")->error_code == "start_failed");
  CHECK(f.end_of("a")->evidence == proof::never_ran);
  CHECK(f.table.slots_used() == 0);
}

TEST_CASE("after the guardian's death everything that lived is dead, stopped or lost", "[table]") {
  table_fixture f({.level = containment::pidns});
  f.runs("lost", 1, "other");
  f.runs("stopped", 2);
  f.start_arrives("unborn", 3, "other");
  f.scope_stopped("team", 9);
  worker::effects list;
  f.table.swept(f.now, list);
  f.perform(list);
  for (const char* name : {"lost", "stopped", "unborn"}) f.output_read(name);
  CHECK(f.end_of("lost")->error_code == "worker_lost");
  CHECK(f.end_of("lost")->evidence == proof::pidns_gone);
  CHECK(f.end_of("stopped")->stop_seq == 9);
  CHECK(f.end_of("stopped")->how == receipt::killed);
  CHECK(f.end_of("unborn")->evidence == proof::never_ran);
  f.dies("lost"); // late events of the dead guardian
  CHECK(f.end_reports("lost") == 1);
}

TEST_CASE("where only parentage says who belonged to a task, the guardian's death leaves the ends unproven",
          "[table]") {
  for (const auto level : {containment::group, containment::cgroup}) {
    table_fixture f({.level = level});
    f.runs("lost", 1, "other");
    f.runs("stopped", 2);
    f.start_arrives("unborn", 3);
    f.scope_stopped("team", 9);
    worker::effects list;
    f.table.swept(f.now, list);
    f.perform(list);
    for (const char* name : {"lost", "stopped", "unborn"}) f.output_read(name);
    CHECK(f.end_of("lost")->error_code == "worker_lost");
    CHECK(f.end_of("lost")->evidence == proof::none);
    CHECK(f.end_of("lost")->how == receipt::unconfirmed); // for a stop that is in flight
    CHECK(f.end_of("stopped")->how == receipt::unconfirmed);
    CHECK(f.end_of("stopped")->evidence == proof::none);
    CHECK(f.end_of("unborn")->how == receipt::never_started);
    CHECK(f.end_of("unborn")->evidence == proof::never_ran);
    CHECK(f.table.slots_used() == 0);
  }
}

TEST_CASE("what was never let go is given back by a worker that cannot start tasks, and what runs stays", "[table]") {
  table_fixture f({.slots = 2});
  f.runs("runs", 1);
  f.start_arrives("failed", 2);
  f.start_arrives("queued", 3);
  f.start_arrives("stopped", 4, "other");
  f.scope_stopped("other", 9);
  worker::effects list;
  f.table.give_back(f.id("failed"), f.now, list);
  f.perform(list);
  CHECK(f.table.knows(f.id("runs")));
  CHECK(!f.table.knows(f.id("failed")));
  CHECK(!f.table.knows(f.id("queued")));
  CHECK(f.end_reports("failed") + f.end_reports("queued") == 0);
  CHECK(f.end_of("stopped")->how == receipt::never_started);
  CHECK(f.table.slots_used() == 1);
  wire::hello h;
  f.table.describe(h);
  CHECK(h.inventory.size() == 1);
  f.start_arrives("failed", 2); // placed here again later: it is not a repeat
  CHECK(f.table.knows(f.id("failed")));
}

TEST_CASE("a leaving worker stops everything, takes nothing new, and a stop of the controller still owns its tasks",
          "[table]") {
  table_fixture f({.slots = 2});
  f.runs("a", 1, "other");
  f.runs("b", 2);
  f.start_arrives("queued", 3);
  worker::effects list;
  f.table.leave(f.now, worker::task_table::departure::with_grace, list);
  f.perform(list);
  CHECK(f.stops.size() == 2);
  CHECK(f.end_of("queued")->evidence == proof::never_ran);
  f.start_arrives("late", 4);
  CHECK(f.end_of("late")->error_code == "worker_lost");
  f.scope_stopped("team", 9);
  f.dies("a", {std::nullopt, "TERM"}, table_fixture::force::signalled);
  f.dies("b", {std::nullopt, "TERM"}, table_fixture::force::signalled);
  CHECK(f.end_of("a")->error_code == "worker_lost");
  CHECK(f.end_of("a")->stop_seq == 0);
  CHECK(f.end_of("b")->stop_seq == 9);
  CHECK(f.end_of("b")->error_code.empty());
}

TEST_CASE("the book of stops forgets the oldest first and stays bounded", "[table]") {
  worker::applied_stops applied(3);
  table_fixture f;
  for (const char* name : {"a", "b", "c", "d"}) applied.close(f.id(name), 7);
  CHECK_FALSE(applied.closed(f.id("a")));
  CHECK(applied.closed(f.id("d")));
  for (int i = 0; i < 100; ++i) {
    wire::stop s;
    s.seq = s.cutoff = static_cast<std::uint64_t>(i);
    s.scope = *scope_path::parse("s" + std::to_string(i));
    applied.record(s);
  }
  CHECK(applied.size() == 6);
}

TEST_CASE("what had its go and was not executed never started: not in a hello, not in its result", "[table]") {
  table_fixture f;
  f.start_arrives("a", 1);
  f.held("a"); // it has its go; the guardian has not reported that it executes
  REQUIRE(f.gone.size() == 1);
  REQUIRE(f.hello().inventory.size() == 1);
  CHECK(f.hello().inventory[0].started_at == wall_time{});
  f.operation_stopped("a", 9);
  f.hears(worker::task_exec_failed{f.id("a"), 127, "nosuch: not found"});
  f.dies("a", {127, std::nullopt});
  REQUIRE(f.end_of("a"));
  CHECK(f.end_of("a")->how == receipt::never_started);
  CHECK(f.end_of("a")->evidence == proof::never_ran);
  CHECK(f.end_of("a")->started_at == wall_time{});
  f.runs("b", 2);
  CHECK(f.hello().inventory[0].started_at != wall_time{});
}

TEST_CASE("the silence of a lease that ran out is not counted from a controller that is back", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  f.pass(12s);
  f.lease.welcomed(f.now.boot, 10s); // the session is back before the guardian's report of the kill was read
  f.dies("a", {std::nullopt, "KILL"}, table_fixture::force::killed);
  CHECK(f.end_of("a")->error_code == "worker_lost");
  CHECK(f.end_of("a")->error_message == "the lease ran out before the controller was heard again");
}

TEST_CASE("the silence behind a lease that ran out is told in milliseconds below a second", "[table]") {
  const auto [silence, shown] = GENERATE(std::pair{900ms, "900 ms"}, std::pair{999ms, "999 ms"},
                                         std::pair{1000ms, "1 s"}, std::pair{1999ms, "1 s"}, std::pair{2000ms, "2 s"});
  table_fixture f;
  f.lease.welcomed(f.now.boot, 900ms);
  f.runs("a", 1);
  f.pass(silence);
  f.dies("a", {std::nullopt, "KILL"}, table_fixture::force::killed);
  REQUIRE(f.end_of("a"));
  CHECK(f.end_of("a")->error_message == std::string("the lease ran out: no contact with the controller for ") + shown);
}

TEST_CASE("what a worker without a lease was given says so when it never ran", "[table]") {
  table_fixture f;
  f.lease = {};
  f.start_arrives("held", 1);
  f.held("held");
  CHECK(f.gone.empty());
  f.hears(worker::task_ended_here{f.id("held"), std::nullopt, table_fixture::force::killed, proof::cgroup_empty});
  f.output_read("held");
  REQUIRE(f.end_of("held"));
  CHECK(f.end_of("held")->error_code == "worker_lost");
  CHECK(f.end_of("held")->error_message == "the worker had no lease; the task never ran");
  CHECK(f.end_of("held")->evidence == proof::never_ran);
}

TEST_CASE("a stop that comes while the report of an end waits does not change that end", "[table]") {
  table_fixture f;
  f.runs("a", 1);
  const bool leaves = GENERATE(true, false);
  worker::effects list;
  if (leaves)
    f.table.leave(f.now, worker::task_table::departure::immediate, list);
  else
    f.table.exceed(f.id("a"), "the workspace is full", f.now, list);
  f.perform(std::move(list));
  f.pass(1s);
  worker::task_ended_here end{f.id("a"), exit_state{std::nullopt, "KILL"}, table_fixture::force::killed,
                              proof::cgroup_empty};
  end.ended_at = f.now.boot;
  const auto ended_at = f.now.wall;
  f.pass(20ms);
  const bool before_end = GENERATE(true, false);
  if (before_end) end.ended_at = f.now.boot + 1ms;
  f.operation_stopped("a", 7);
  f.pass(20ms);
  f.hears(end);
  f.output_read("a");
  REQUIRE(f.end_of("a"));
  if (before_end) {
    CHECK(f.end_of("a")->stop_seq == 7);
  } else {
    CHECK(f.end_of("a")->stop_seq == 0);
    CHECK(f.end_of("a")->error_code == (leaves ? "worker_lost" : "workspace_full"));
    CHECK(f.end_of("a")->ended_at == ended_at);
  }
}
