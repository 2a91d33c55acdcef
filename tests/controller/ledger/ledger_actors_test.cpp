// Operations that are actors of this process: the first end decides, and every call has one result that stands. Cancels
// and crashes before and after each step.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/controller/ledger/actors_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("a cancel of a call in every stage decides once, whatever its actor says afterwards") {
  for (const auto s : stages) {
    CAPTURE(static_cast<int>(s));
    actors_world w;
    go_to(w, s);
    w.cancels("call");
    CHECK_FALSE(w.begin("call"));
    CHECK_FALSE(w.decide("call", true));
    CHECK_FALSE(w.decide("call", false));
    CHECK_FALSE(w.asks("call"));
    CHECK_FALSE(w.answer("call", true));
    CHECK_FALSE(w.takes_back("call"));
    CHECK_FALSE(w.times_out("call"));
    CHECK_FALSE(w.ends("call"));
    ends_once(w, "call");
    CHECK(w.status_of("turn") == "running");
    const auto stands = w.result("call");
    switch (s) {
    case stage::pending:
    case stage::paused:
      CHECK(stands.cancelled);
      CHECK(stands.result.find("not started") != std::string::npos);
      CHECK(w.status_of("call") == "cancelled");
      break;
    case stage::running:
    case stage::approved:
    case stage::asking:
    case stage::answered:
      CHECK(stands.cancelled);
      CHECK(stands.result.find("not started") == std::string::npos);
      CHECK(w.status_of("call") == "cancelled");
      break;
    case stage::denied:
      CHECK(stands == failed_result);
      CHECK(w.status_of("call") == "failed");
      break;
    case stage::ended:
      CHECK(stands == done_result);
      CHECK(w.status_of("call") == "completed");
      break;
    case stage::timed_out:
      CHECK(stands == late_result);
      CHECK(w.row("call").error->code == "timeout");
      break;
    }
    REQUIRE(w.turn_ends("turn"));
    CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_complete {"text":""})"});
  }
}

TEST_CASE("a call that a human has approved is not asked about again") {
  actors_world w;
  go_to(w, stage::approved);
  CHECK_FALSE(w.pause("call")); // its agent was resumed after a restart, and asks too late
  CHECK(w.status_of("call") == "running");
  CHECK(w.ends("call"));
  ends_once(w, "call");
}

TEST_CASE("a cancel of the turn in every stage of its call: one result, one end, one word about the turn") {
  for (const auto s : stages) {
    CAPTURE(static_cast<int>(s));
    actors_world w;
    go_to(w, s);
    w.cancel_scope("s");
    w.roll_out();
    w.ends("call");
    CHECK_FALSE(w.turn_ends("turn"));
    ends_once(w, "turn");
    ends_once(w, "call");
    CHECK(w.status_of("turn") == "cancelled");
    CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"user"})"});
    CHECK(w.result("call").cancelled == (!is_over(s) && s != stage::timed_out));
    CHECK_FALSE(w.discarded("turn"));
  }
}

TEST_CASE("the fourth crash in every stage: each call has its result, and so has the turn") {
  for (const auto s : stages) {
    CAPTURE(static_cast<int>(s));
    actors_world w;
    go_to(w, s);
    for (int i = 0; i < 4; ++i) {
      w.restart();
      w.roll_out();
      if (s == stage::paused) CHECK_FALSE(w.goes_on("turn"));
    }
    if (s == stage::paused) {
      CHECK(w.status_of("turn") == "running");
      CHECK(w.status_of("call") == "paused");
      const auto open = w.core->actors()->open_turns();
      REQUIRE(open.size() == 1);
      CHECK(open[0].id == w.id("turn"));
      CHECK(open[0].has_started);
      CHECK(w.results("call").empty());
      REQUIRE(w.decide("call", true));
      for (int i = 0; i < 4; ++i) w.restart();
      w.roll_out();
      CHECK(w.result("call").result.find("interrupted") != std::string::npos);
    }
    CHECK(w.core->actors()->open_turns().empty());
    ends_once(w, "turn");
    ends_once(w, "call");
    CHECK(w.row("turn").error->code == "interrupted");
    CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"interrupted"})"});
    CHECK_FALSE(w.result("call").cancelled);
    if (s == stage::asking || s == stage::answered) // it can have done anything until then, and is not repeated
      CHECK(w.result("call").result.find("is unknown") != std::string::npos);
    CHECK(w.core->actors()->interrupted() == std::vector<operation_id>{w.id("turn")});
    CHECK(w.core->actors()->interrupted().empty());
  }
}

TEST_CASE("a crash while a cancel is on its way finishes that cancel") {
  for (const auto s : stages) {
    CAPTURE(static_cast<int>(s));
    actors_world w;
    go_to(w, s);
    const auto c = w.cancel_task("turn");
    w.restart();
    w.roll_out();
    ends_once(w, "turn");
    ends_once(w, "call");
    CHECK(w.status_of("turn") == "cancelled");
    CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"user"})"});
    CHECK(w.report(c).status == cancel_status::settled);
    CHECK(w.count(c, receipt::unconfirmed) == 0);
  }
}

TEST_CASE("a timeout of the turn is not a cancel by a user, for its calls neither") {
  for (const bool began : {false, true}) {
    actors_world w;
    create_order o;
    w.turn("turn");
    w.call("call", "turn");
    if (began) w.begin("call");
    CHECK(w.core->actors()->stop_local(w.id("turn"), stop_cause::timeout, {}, w.now));
    w.take();
    w.roll_out();
    w.ends("call");
    w.turn_ends("turn", false);
    const auto stands = w.result("call");
    CHECK_FALSE(stands.cancelled);
    CHECK(stands.result.find(R"("code":"timeout")") != std::string::npos);
    CHECK((stands.result.find("not started") == std::string::npos) == began);
    CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"timeout"})"});
    CHECK(w.row("turn").error->code == "timeout");
  }
}

TEST_CASE("a turn that fails leaves its calls with words that blame nobody") {
  actors_world w;
  w.turn("turn");
  w.call("pending", "turn");
  w.call("running", "turn");
  w.begin("running");
  REQUIRE(w.turn_ends("turn", false));
  w.roll_out();
  w.ends("running");
  for (const auto* name : {"pending", "running"}) {
    CHECK(w.result(name).result.find("interrupted") != std::string::npos);
    CHECK_FALSE(w.result(name).cancelled);
    ends_once(w, name);
  }
  CHECK(w.status_of("turn") == "failed");
  CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"error"})"});
}

TEST_CASE("a turn that was stopped while it waited for its turn is discarded, and says so") {
  actors_world w;
  w.turn("turn", "s", true);
  w.cancels("turn");
  CHECK(w.status_of("turn") == "cancelled");
  CHECK(w.row("turn").stop->how == receipt::never_started);
  CHECK(w.discarded("turn"));
  CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"user"})"});
  CHECK_FALSE(w.begin("turn"));
}

TEST_CASE("a stopped turn lists the detached tasks that its stop passes by") {
  actors_world w;
  w.turn("turn");
  w.call("call", "turn");
  w.begin("call");
  w.child("free", "call", on_parent_end::detach);
  w.child("late", "call", on_parent_end::detach);
  CHECK(w.core->actors()->detached_tasks(in("s")) == 2);
  CHECK(w.core->actors()->detached_tasks(in("s/a")) == 0);
  REQUIRE(w.ends("call"));
  w.cancels("late");
  w.cancels("turn");
  w.turn_ends("turn");
  CHECK(w.status_of("turn") == "cancelled");
  CHECK(w.overs("turn") ==
        std::vector<std::string>{R"(turn_abort {"reason":"user","still_running":[")" + w.id("free").text() + R"("]})"});
  CHECK(w.status_of("free") == "pending");
  CHECK(w.core->actors()->detached_tasks(in("s")) == 1);
}

TEST_CASE("whatever the order of steps, cancels and crashes: one result and one end for each") {
  CHECK(rc::check("steps of actors", [] {
    actors_world w;
    std::vector<std::string> turns, calls;
    const auto pick = [](const std::vector<std::string>& of) { return *rc::gen::elementOf(of); };
    const auto steps = *rc::gen::inRange(5, 60);
    for (int i = 0; i < steps; ++i) {
      const auto what = *rc::gen::inRange(0, 19);
      if (turns.empty() || what == 0) {
        turns.push_back("t" + std::to_string(turns.size()));
        w.turn(turns.back(), *rc::gen::element<std::string>("s", "s/a", "b"), *rc::gen::arbitrary<bool>());
      } else if (calls.empty() || what <= 3) {
        const auto name = "c" + std::to_string(i);
        if (w.call(name, pick(turns))) calls.push_back(name);
      } else if (what <= 5) {
        w.begin(pick(calls));
      } else if (what == 6) {
        w.pause(pick(calls));
      } else if (what == 7) {
        w.decide(pick(calls), *rc::gen::arbitrary<bool>());
      } else if (what <= 9) {
        w.ends(pick(calls), *rc::gen::element(done_result, failed_result));
      } else if (what == 10) {
        w.times_out(pick(calls));
      } else if (what == 11) {
        w.turn_ends(pick(turns), *rc::gen::arbitrary<bool>());
      } else if (what == 12) {
        w.cancels(pick(*rc::gen::arbitrary<bool>() ? turns : calls));
      } else if (what == 13) {
        w.cancel_scope(*rc::gen::element<std::string>("s", "s/a", "b"));
      } else if (what == 14) {
        w.restart();
      } else if (what == 15) {
        w.begin(pick(turns));
      } else if (what == 16) {
        w.asks(pick(calls));
      } else if (what == 17) {
        *rc::gen::arbitrary<bool>() ? w.answer(pick(calls), *rc::gen::arbitrary<bool>()) : w.takes_back(pick(calls));
      } else {
        w.pass(milliseconds{*rc::gen::inRange(1, 20'000)});
      }
    }
    // The agents end the calls that they were told to end; then everything is stopped.
    for (const auto* scope : {"s", "b"}) w.cancel_scope(scope);
    w.roll_out();
    for (const auto& c : calls) w.ends(c);
    for (const auto& t : turns) w.turn_ends(t);
    w.roll_out();
    for (const auto& c : calls) {
      const auto& row = w.row(c);
      RC_ASSERT(is_terminal(row.now));
      RC_ASSERT(w.store.terminal_events[w.id(c)] == 1);
      const auto given = w.results(c);
      RC_ASSERT(!given.empty());
      RC_ASSERT(given.front().ok == (row.now == status::completed));
      if (row.now == status::cancelled && row.stop->cause == stop_cause::cancel) RC_ASSERT(given.front().cancelled);
      if (!row.stop) RC_ASSERT(!given.front().cancelled);
    }
    for (const auto& t : turns) {
      RC_ASSERT(w.store.terminal_events[w.id(t)] == 1);
      const auto given = w.overs(t);
      RC_ASSERT(given.size() == 1U);
      RC_ASSERT(given.front().starts_with("turn_complete") == (w.row(t).now == status::completed));
    }
    RC_ASSERT(w.core->live_count() == 0U);
  }));
}

TEST_CASE("exchanges are told at the fence, before any sweep, of the stops that cover them and of no others") {
  actors_world w;
  for (int i = 0; i < 300; ++i) w.task("task " + std::to_string(i), in("voice/here"));
  w.turn("older", "voice/here", false, kind::exchange);
  w.turn("elsewhere", "voice/there", false, kind::exchange);
  const auto signalled = [&w] {
    std::vector<operation_id> all;
    for (const auto& s : std::exchange(w.signals, {})) {
      CHECK(s.is_fenced);
      all.push_back(s.operation);
    }
    return all;
  };
  const auto up_to = w.core->last_seq();
  w.turn("newer", "voice/here", false, kind::exchange);
  signalled();
  SECTION("a scope") {
    w.cancel_scope("voice/here");
    CHECK(signalled() == std::vector{w.id("older"), w.id("newer")});
    w.cancel_scope("voice/here"); // joins the first one
    w.cancel_scope("voice");
    CHECK(signalled() == std::vector{w.id("elsewhere")});
    w.turn("later", "voice/here", false, kind::exchange);
    CHECK(signalled().empty());
  }
  SECTION("a scope up to a number") {
    auto o = w.order(records::target_scope{in("voice")});
    o.up_to_seq = up_to;
    w.cancel(o);
    CHECK(signalled() == std::vector{w.id("older"), w.id("elsewhere")});
  }
  SECTION("an owner") {
    w.cancel(records::target_owner{"alice", in("voice/here")});
    CHECK(signalled() == std::vector{w.id("older"), w.id("newer")});
  }
  SECTION("everything") {
    w.cancel(records::target_everything{});
    CHECK(signalled() == std::vector{w.id("older"), w.id("elsewhere"), w.id("newer")});
  }
  SECTION("one exchange") {
    w.cancel_task("newer");
    CHECK(signalled() == std::vector{w.id("newer")});
  }
  SECTION("one whose own work is over and that waits for its voice") {
    w.child("voice", "older");
    w.runs("voice", "w1");
    REQUIRE(w.turn_ends("older"));
    w.cancel_scope("voice/here");
    CHECK(signalled() == std::vector{w.id("newer")});
  }
  w.roll_out();
  for (const auto id : signalled()) CHECK(id != w.id("newer"));
}
