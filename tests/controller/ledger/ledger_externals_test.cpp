// External operations: every cell of the owner's table, their place in the tree, and who may receive which signals. The
// first report decides.
#include "tests/controller/ledger/externals_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("every cell of the owner's table, in life and after a restart") {
  struct cell {
    status now;
    std::string start, complete, fail, stopped; ///< what each call is told; "" = taken
    status complete_as, fail_as, stopped_as;
  };
  const std::string gone = "operation_not_found"; // it has ended: its row holds the rest
  const std::vector<cell> table{
      {status::pending, "", "not_started", "", "not_cancelling", status::pending, status::failed, status::pending},
      {status::running, "", "", "", "not_cancelling", status::completed, status::failed, status::running},
      {status::cancelling, "stale_start", "", "", "", status::completed, status::cancelled, status::cancelled},
      {status::completed, gone, gone, gone, gone, status::completed, status::completed, status::completed},
      {status::failed, gone, gone, gone, gone, status::failed, status::failed, status::failed},
      {status::cancelled, gone, gone, gone, gone, status::cancelled, status::cancelled, status::cancelled}};
  for (const auto& row : table)
    for (const bool restarted : {false, true}) {
      CAPTURE(name_of(row.now), restarted);
      externals_world w;
      for (const char* name : {"a", "b", "c", "d"}) w.stage(name, row.now);
      if (restarted) w.restart();
      CHECK(w.start("a") == row.start);
      CHECK(w.complete("b") == row.complete);
      CHECK(w.status_of("b") == name_of(row.complete_as));
      CHECK(w.fail("c") == row.fail);
      CHECK(w.status_of("c") == name_of(row.fail_as));
      CHECK(w.stopped("d") == row.stopped);
      CHECK(w.status_of("d") == name_of(row.stopped_as));
      if (row.now == status::pending) CHECK(w.status_of("a") == "running");
      if (row.now != status::cancelling) continue;
      CHECK(how_of(w, "b") == receipt::already_finished);
      CHECK(w.row("b").result == R"({"answer":42})");
      CHECK(how_of(w, "c") == receipt::cooperative);
      CHECK(w.row("c").error->code == "broken");
      CHECK(how_of(w, "d") == receipt::cooperative);
      for (const char* name : {"b", "c", "d"}) CHECK(w.row(name).stop->evidence == proof::reported);
    }
}

TEST_CASE("what has ended its own work and waits for its children answers like what has ended") {
  externals_world w;
  w.external("parent");
  w.external("child", {.below = "parent", .edge = on_parent_end::wait});
  CHECK(w.complete("parent").empty());
  CHECK(w.status_of("parent") == "running");
  CHECK(w.complete("parent").empty());
  CHECK(w.fail("parent") == "already_terminal");
  CHECK(w.stopped("parent") == "already_terminal");
  CHECK(w.start("parent") == "already_terminal");
  CHECK(w.try_external("late", {.below = "parent"}) == "parent_ended");
  w.restart();
  CHECK(w.complete("child").empty());
  CHECK(w.status_of("parent") == "completed");
  CHECK(w.row("parent").result == R"({"answer":42})");
  CHECK(w.owner_signals.empty());
}

TEST_CASE("a normal end stops the children that did not ask to be waited for, any other end stops all") {
  for (const bool well : {true, false}) {
    CAPTURE(well);
    externals_world w;
    w.external("parent");
    w.external("waits", {.below = "parent", .edge = on_parent_end::wait});
    w.external("goes", {.below = "parent"});
    CHECK((well ? w.complete("parent") : w.fail("parent")).empty());
    w.roll_out();
    w.collect();
    CHECK(w.status_of("goes") == "cancelling");
    CHECK(w.status_of("waits") == (well ? "running" : "cancelling"));
    REQUIRE(w.owner_signals.size() == (well ? 1 : 2));
    CHECK(w.owner_signals.front().cause == stop_cause::parent_ended);
    CHECK(w.stopped("goes").empty());
    CHECK((well ? w.complete("waits") : w.stopped("waits")).empty());
    CHECK(w.status_of("parent") == (well ? "completed" : "failed"));
  }
}

TEST_CASE("work that was never started ends at once when it is cancelled, and its start is stale") {
  externals_world w;
  w.external("queued", {.later = true, .session = "r"});
  CHECK(w.core->view(w.id("queued"), w.now)->waiting->what == "start");
  const auto c = w.cancel_scope("s");
  CHECK(w.start("queued") == "stale_start"); // the cancel has not been rolled out to it
  w.roll_out();
  w.collect();
  CHECK(w.status_of("queued") == "cancelled");
  CHECK(w.count(c, receipt::never_started) == 1);
  CHECK(w.count(c, proof::never_ran) == 1);
  CHECK(w.owner_signals.empty());
  // Work that was decided before the cancel and registered after it.
  CHECK(w.try_external("old", {.as_of = c.record.seq}) == "stale_start");
  CHECK(w.try_external("new", {.as_of = c.record.seq + 1}).empty());
}

TEST_CASE("an owner that is told late of a cancel learns it from whatever it says first") {
  externals_world w;
  w.external("a", {.session = "r"});
  (void)w.cancel_scope("s"); // accepted, not rolled out
  w.collect();
  SECTION("a heartbeat of its session") { CHECK(w.beat({}, "r").cancels.size() == 1); }
  SECTION("a look at its session") { CHECK(w.core->externals()->signals_of("r", {}, w.now).size() == 1); }
  SECTION("a heartbeat") {
    const auto answer = w.beat({"a"});
    REQUIRE(answer.cancels.size() == 1);
    CHECK(answer.cancels.front().operation == w.id("a"));
    CHECK(answer.cancels.front().reason == "wrong branch");
    CHECK(answer.cancels.front().by->id == "alice");
  }
  SECTION("a look") {
    const auto found = w.core->externals()->signal_of(w.id("a"), {}, w.now);
    REQUIRE(found);
    CHECK((*found)->cause == stop_cause::cancel);
  }
  SECTION("its end, which was there before the stop was applied") {
    CHECK(w.complete("a").empty());
    CHECK(w.status_of("a") == "completed");
    CHECK(how_of(w, "a") == receipt::already_finished);
    CHECK(w.owner_signals.size() == 1);
  }
}

TEST_CASE("an answer has room for so many signals, and the next ones have the others, each once") {
  externals_world w;
  const std::size_t many = GENERATE(std::size_t{10}, most_signals, most_signals + 1, 2 * most_signals + 7);
  const bool is_whole = GENERATE(true, false); // whether the caller sees all of the session
  std::vector<operation_id> all;
  for (std::size_t i = 0; i < many; ++i) {
    w.external("e" + std::to_string(i), {.session = "r"});
    all.push_back(w.id("e" + std::to_string(i)));
  }
  if (!is_whole) w.external("hidden", {.scope = "other", .session = "r"});
  w.external("lives", {.scope = "s2", .session = "r"});
  (void)w.cancel_scope("s");
  w.roll_out();
  w.collect();
  caller by;
  if (!is_whole) by.prefix = in("s");

  std::vector<operation_id> signalled;
  std::uint64_t after = 0;
  for (std::size_t answers = 0;; ++answers) {
    REQUIRE(answers < 5);
    const auto answer = w.beat({}, "r", by, after);
    CHECK(answer.cancels.size() <= most_signals);
    for (const auto& signal : answer.cancels) signalled.push_back(signal.operation);
    if (!answer.next) break;
    CHECK(*answer.next > after);
    after = *answer.next;
  }
  CHECK(signalled == all);
  // An owner that ends what it hears of needs no cursor.
  for (std::size_t i = 0; i < many && i < most_signals; ++i) CHECK(w.stopped("e" + std::to_string(i)).empty());
  CHECK(w.beat({}, "r", by).cancels.size() == std::min(most_signals, many - std::min(many, most_signals)));
}

TEST_CASE("signals with large labels fill an answer earlier, and one always has room") {
  externals_world w;
  const std::string large(most_signal_bytes / 2, 'x');
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    names.push_back("e" + std::to_string(i));
    w.external(names.back(), {.labels = {{"large", i == 2 ? large + large + large : large}}});
  }
  (void)w.cancel_scope("s");
  w.roll_out();
  w.collect();
  std::reverse(names.begin(), names.end()); // in whatever order the owner names them
  std::vector<operation_id> signalled;
  std::uint64_t after = 0;
  std::size_t answers = 0;
  for (bool goes_on = true; goes_on; ++answers) {
    REQUIRE(answers < 9);
    const auto answer = w.beat(names, {}, {}, after);
    CHECK(answer.cancels.size() == 1);
    CHECK(answer.renewed == 4);
    for (const auto& signal : answer.cancels) signalled.push_back(signal.operation);
    goes_on = answer.next.has_value();
    after = answer.next.value_or(0);
  }
  CHECK(answers == 4);
  CHECK(signalled == std::vector{w.id("e0"), w.id("e1"), w.id("e2"), w.id("e3")});
}

TEST_CASE("a session's owner hears and renews only what its token may see") {
  externals_world w;
  w.external("mine", {.scope = "team/a", .lease = milliseconds{5000}, .session = "shared"});
  w.external("other", {.scope = "else", .lease = milliseconds{5000}, .session = "shared"});
  caller by;
  by.prefix = in("team");
  CHECK(w.beat({}, "shared", by).renewed == 1);
  CHECK(w.beat({"mine", "other"}, {}, by).unknown == std::vector<operation_id>{w.id("other")});
  CHECK(w.complete("other", by) == "operation_not_found");
  w.cancels("mine");
  w.cancels("other");
  const auto received = w.core->externals()->signals_of("shared", by, w.now);
  REQUIRE(received.size() == 1);
  CHECK(received.front().operation == w.id("mine"));
  CHECK(w.core->externals()->signals_of("shared", {}, w.now).size() == 2);
}

TEST_CASE("a task hears and renews what a session has below it, and nothing else of that session") {
  externals_world w;
  w.task("task", in("team/a"));
  w.task("neighbour", in("team/a"));
  caller by;
  by.prefix = in("team/a");
  by.task = w.id("task");
  const auto below = [&](const std::string& name, const std::string& parent) {
    w.external(name, {.below = parent, .lease = milliseconds{5000}, .session = "shared"});
  };
  const auto renewed = [&] { return w.beat({}, "shared", by).renewed; };
  below("first", "task");
  below("second", "task");
  CHECK(renewed() == 2);
  below("deeper", "first");
  CHECK(renewed() == 3);
  below("other", "neighbour");
  CHECK(renewed() == 3);
  by.task = w.id("neighbour");
  CHECK(renewed() == 1);
  by.task.reset();
  CHECK(renewed() == 4);
}

TEST_CASE("what is stopped before it began is over, and no owner is told to stop it") {
  externals_world w;
  w.external("parent", {.later = true, .lease = milliseconds{5000}, .session = "r"});
  w.external("child", {.below = "parent"});
  (void)w.cancel_scope("s"); // accepted, not rolled out
  SECTION("in a heartbeat") {
    const auto answer = w.beat({"parent"});
    CHECK(answer.renewed == 1);
    CHECK(answer.cancels.empty());
    CHECK_FALSE(answer.lease_expires_at);
  }
  SECTION("in a session's") { CHECK(w.beat({}, "r").cancels.empty()); }
  SECTION("in a look") {
    const auto found = w.core->externals()->signal_of(w.id("parent"), {}, w.now);
    REQUIRE(found);
    CHECK_FALSE(*found);
  }
  SECTION("in a look at its session") { CHECK(w.core->externals()->signals_of("r", {}, w.now).empty()); }
}

TEST_CASE("a session below another task's operation is as unknown to a task as one that is not there") {
  externals_world w;
  w.task("task", in("s"));
  w.task("neighbour", in("s"));
  w.external("a", {.below = "task", .lease = milliseconds{5000}, .session = "r"});
  w.cancels("a");
  caller by;
  by.task = w.id("neighbour");
  CHECK(w.beat({}, "r", by).renewed == 0);
  CHECK(w.beat({}, "r", by).cancels.empty());
  CHECK(w.core->externals()->signals_of("r", by, w.now).empty());
}

TEST_CASE("a task is not an external operation, and may have some below it and above it") {
  externals_world w;
  w.task("task", in("s"));
  w.runs("task", "w1");
  w.external("agent", {.below = "task"});
  w.task("tool", {.below = "agent"});
  w.runs("tool", "w1");
  CHECK(w.complete("task") == "not_external");
  CHECK(w.start("tool") == "not_external");
  CHECK(w.beat({"task"}).unknown.size() == 1);
  caller own;
  own.task = w.id("task");
  CHECK(w.complete("task", own) == "not_external");
  const auto c = w.cancel_task("task");
  w.roll_out();
  w.collect();
  CHECK(w.owner_signals.size() == 1);
  CHECK(w.stopped("agent").empty());
  CHECK(w.status_of("agent") == "cancelling"); // its children are live
  w.dies("tool");
  CHECK(w.status_of("agent") == "cancelled");
  w.dies("task");
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, proof::reported) == 1);
  CHECK(w.count(c, proof::cgroup_empty) == 2);
}

TEST_CASE("a timeout stops external work with that cause, and it ends as failed") {
  externals_world w;
  w.external("slow", {.grace = milliseconds{1000}, .timeout = milliseconds{2000}});
  w.waits(milliseconds{2500});
  REQUIRE(w.owner_signals.size() == 1);
  CHECK(w.owner_signals.front().cause == stop_cause::timeout);
  CHECK(w.stopped("slow").empty());
  CHECK(w.status_of("slow") == "failed");
  CHECK(w.row("slow").error->code == "timeout");
}

TEST_CASE("what supersedes waits for the end of the older one; if it starts later, its owner starts it then") {
  externals_world w;
  w.external("first", {.supersede = "k"});
  w.external("second", {.later = true, .supersede = "k"});
  REQUIRE(w.owner_signals.size() == 1);
  CHECK(w.owner_signals.front().cause == stop_cause::superseded);
  CHECK(w.start("second") == "not_started");
  CHECK(w.complete("second") == "not_started");
  CHECK(w.stopped("first").empty());
  CHECK(w.status_of("second") == "pending");
  CHECK(w.start("second").empty());
  w.external("third", {.supersede = "k"});
  CHECK(w.stopped("second").empty());
  CHECK(w.status_of("third") == "running");
}
