// Turns that go on after a restart: which, how often, with what below them, and never against a stop.
#include <catch2/catch.hpp>

#include "tests/controller/ledger/actors_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

/// A turn with a call that runs a sub-agent, whose call runs a task.
struct deep_world : actors_world {
  deep_world() {
    turn("turn");
    REQUIRE(call("spawn", "turn"));
    REQUIRE(begin("spawn"));
    REQUIRE(agent("agent", "spawn"));
    REQUIRE(call("exec", "agent"));
    REQUIRE(begin("exec"));
  }
  void crash() {
    restart();
    roll_out();
  }
};

} // namespace

TEST_CASE("a turn goes on three times, and the fourth restart ends it with what it had started") {
  deep_world w;
  w.child("task", "exec");
  w.runs("task", "w1");
  for (int i = 0; i < 3; ++i) {
    w.crash();
    for (const auto* name : {"turn", "spawn", "agent", "exec", "task"}) CHECK(w.status_of(name) == "running");
    const auto open = w.core->actors()->open_turns();
    REQUIRE(open.size() == 1);
    CHECK(open[0].has_started);
    CHECK(w.core->actors()->interrupted().empty());
    CHECK(w.goes_on("turn"));
  }
  w.crash();
  CHECK(w.status_of("task") == "cancelling");
  CHECK(w.core->actors()->open_turns().empty());
  w.dies("task");
  for (const auto* name : {"turn", "spawn", "agent", "exec"}) {
    ends_once(w, name);
    CHECK(w.status_of(name) == "failed");
    CHECK(w.row(name).error->code == "interrupted");
  }
  CHECK_FALSE(w.row("turn").stop);     // nobody stopped it; what lies below it was stopped with it
  CHECK(w.row("turn").result.empty()); // the count is not a result
  CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_abort {"reason":"interrupted"})"});
  for (const auto* name : {"spawn", "exec"}) CHECK(w.results(name).size() == 1);
}

TEST_CASE("a model call ends with the process that asked, and its turn goes on") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.agent("model", "turn", kind::model_call));
  w.restart();
  ends_once(w, "model");
  CHECK(w.row("model").error->code == "interrupted");
  CHECK(w.status_of("turn") == "running");
  REQUIRE(w.turn_ends("turn"));
  CHECK(w.overs("turn") == std::vector<std::string>{R"(turn_complete {"text":""})"});
}

TEST_CASE("a turn that only waits for humans, in a sub-agent too, is not counted") {
  for (const bool deep : {false, true}) {
    CAPTURE(deep);
    actors_world w;
    w.turn("turn");
    if (deep) {
      REQUIRE(w.call("spawn", "turn"));
      REQUIRE(w.begin("spawn"));
      REQUIRE(w.agent("agent", "spawn"));
    }
    REQUIRE(w.call("call", deep ? "agent" : "turn"));
    REQUIRE(w.pause("call"));
    for (int i = 0; i < 10; ++i) {
      w.restart();
      CHECK(w.status_of("turn") == "running");
      CHECK(w.status_of("call") == "paused");
      CHECK_FALSE(w.goes_on("turn"));
    }
    REQUIRE(w.decide("call", true));
    w.restart();
    CHECK(w.status_of("call") == "running"); // approved, and not asked again
    CHECK(w.goes_on("turn"));
  }
}

TEST_CASE("a turn that waits is not counted before it has its agent again either, nor after three resumes") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("first", "turn"));
  REQUIRE(w.begin("first"));
  for (int i = 0; i < 3; ++i) w.restart();
  REQUIRE(w.ends("first"));
  REQUIRE(w.call("call", "turn"));
  REQUIRE(w.pause("call"));
  for (int i = 0; i < 10; ++i) w.restart();
  CHECK(w.status_of("turn") == "running");
  CHECK(w.status_of("call") == "paused");
  REQUIRE(w.decide("call", true)); // its agent comes behind the decision
  CHECK_FALSE(w.goes_on("turn"));
  w.restart(); // and is under way now, for the fourth time
  w.roll_out();
  CHECK(w.status_of("turn") == "failed");
  CHECK(w.row("turn").error->code == "interrupted");
}

TEST_CASE("a turn that ends the process before it has its agent again does not do so for ever") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("call", "turn"));
  REQUIRE(w.pause("call"));
  int starts = 0;
  while (w.status_of("turn") == "running" && starts < 100) w.restart(), ++starts;
  CHECK(starts > 20);
  CHECK(w.status_of("turn") == "failed");
  ends_once(w, "call");
}

TEST_CASE("what was stopped before a crash does not go on, whatever lies between") {
  for (const auto* target : {"turn", "spawn", "agent", "exec", "scope"}) {
    CAPTURE(target);
    deep_world w;
    if (target == std::string("scope"))
      w.cancel_scope("s");
    else
      (void)w.try_cancel(w.order(records::target_operation{w.id(target)}));
    w.take();
    w.crash();
    const bool all = target == std::string("scope") || target == std::string("turn");
    CHECK(w.status_of("turn") == (all ? "cancelled" : "running"));
    CHECK(w.status_of("exec") == "cancelled");
    CHECK(w.result("exec").cancelled);
    if (target != std::string("exec")) CHECK(w.status_of("agent") == "cancelled");
    CHECK(w.core->actors()->open_turns().size() == (all ? 0 : 1));
    ends_once(w, "exec");
  }
}

TEST_CASE("a stop before a turn has its agent again ends it with everything below it, once") {
  deep_world w;
  w.child("task", "exec");
  w.runs("task", "w1");
  w.crash();
  const auto c = w.cancel_task("turn");
  w.give_up("turn");
  w.dies("task");
  w.roll_out();
  for (const auto* name : {"turn", "spawn", "agent", "exec"}) {
    ends_once(w, name);
    CHECK(w.status_of(name) == "cancelled");
  }
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::unconfirmed) == 0);
}

TEST_CASE("a turn that cannot go on leaves no call without a result") {
  deep_world w;
  REQUIRE(w.call("waits", "turn"));
  w.crash();
  w.give_up("turn");
  for (const auto* name : {"spawn", "exec", "waits"}) {
    ends_once(w, name);
    CHECK_FALSE(w.result(name).ok);
  }
  CHECK(w.status_of("turn") == "failed");
}

TEST_CASE("a call with an open question ends unknown, and its turn goes on") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("call", "turn"));
  REQUIRE(w.begin("call"));
  REQUIRE(w.asks("call"));
  w.restart();
  w.roll_out();
  ends_once(w, "call");
  CHECK(w.result("call").result.find("is unknown") != std::string::npos);
  CHECK(w.status_of("turn") == "running");
}

TEST_CASE("a turn of a voice exchange ends with it, and so does what it had started") {
  actors_world w;
  w.turn("exchange", "s", false, kind::exchange);
  REQUIRE(w.agent("turn", "exchange", kind::turn));
  REQUIRE(w.call("call", "turn"));
  REQUIRE(w.begin("call"));
  w.child("task", "call");
  w.runs("task", "w1");
  w.restart();
  CHECK(w.core->actors()->open_turns().empty());
  w.dies("task");
  w.roll_out();
  for (const auto* name : {"call", "turn", "exchange"}) {
    ends_once(w, name);
    CHECK(w.row(name).error->code == "interrupted");
  }
}

TEST_CASE("a stopped call that somebody else works on is not proven dead by a crash") {
  for (const auto* tool : {"mcp__files__delete", "a2a__clerk", "exec"})
    for (const bool is_stopped_before : {true, false}) {
      CAPTURE(tool, is_stopped_before);
      actors_world w;
      w.turn("turn");
      REQUIRE(w.call(tool, "turn"));
      REQUIRE(w.begin(tool));
      if (is_stopped_before) w.cancels("turn");
      w.restart();
      if (!is_stopped_before) {
        w.cancels("turn"); // before its agent is back
        w.give_up("turn");
      }
      w.roll_out();
      CHECK(w.status_of("turn") == "cancelled");
      ends_once(w, tool);
      REQUIRE(w.row(tool).stop);
      const bool is_ours = std::string(tool) == "exec";
      CHECK((w.row(tool).stop->how == receipt::unconfirmed) == !is_ours);
      CHECK((w.row(tool).stop->evidence == proof::none) == !is_ours);
    }
}

TEST_CASE("the calls of an agent that died end with it, with proof only if they were nowhere else") {
  const bool is_stopped_before = GENERATE(true, false);
  CAPTURE(is_stopped_before);
  actors_world w;
  w.turn("turn");
  for (const auto* tool : {"mcp__files__delete", "a2a__clerk", "exec", "mcp__files__asked", "later"}) {
    REQUIRE(w.call(tool, "turn"));
    if (std::string(tool) == "mcp__files__asked")
      REQUIRE(w.pause(tool));
    else if (std::string(tool) != "later")
      REQUIRE(w.begin(tool));
  }
  REQUIRE(w.agent("model", "turn", kind::model_call));
  if (is_stopped_before) w.cancels("turn");
  w.actor_dies("turn"); // no time passes
  for (const auto* tool : {"mcp__files__delete", "a2a__clerk", "exec", "mcp__files__asked", "later", "model", "turn"})
    ends_once(w, tool);
  for (const auto* tool : {"mcp__files__delete", "a2a__clerk"}) {
    REQUIRE(w.row(tool).stop);
    CHECK(w.row(tool).stop->how == receipt::unconfirmed);
    CHECK(w.row(tool).stop->evidence == proof::none);
  }
  for (const auto* tool : {"exec", "mcp__files__asked", "model"}) {
    REQUIRE(w.row(tool).stop);
    CHECK(w.row(tool).stop->how == receipt::killed);
    CHECK(w.row(tool).stop->evidence == proof::internal);
  }
  CHECK(w.row("later").stop->how == receipt::never_started);
  const auto was = w.row("exec");
  CHECK_FALSE(w.ends("exec")); // its answer was on the way
  CHECK(w.row("exec") == was);
  CHECK(w.result("exec") != done_result);
}

TEST_CASE("a call of an agent that died is over with its task, and a sub-agent answers for its own calls") {
  actors_world w;
  w.turn("turn");
  for (const auto* tool : {"exec", "spawn"}) {
    REQUIRE(w.call(tool, "turn"));
    REQUIRE(w.begin(tool));
  }
  w.child("task", "exec");
  w.runs("task", "w1");
  REQUIRE(w.agent("agent", "spawn"));
  REQUIRE(w.call("read", "agent"));
  REQUIRE(w.begin("read"));
  w.actor_dies("turn");
  w.roll_out();
  for (const auto* name : {"turn", "exec", "task", "spawn", "agent", "read"}) CHECK_FALSE(is_terminal(w.row(name).now));
  w.ends("read");
  w.turn_ends("agent", false);
  ends_once(w, "spawn");
  CHECK_FALSE(is_terminal(w.row("turn").now));
  w.dies("task");
  for (const auto* name : {"task", "exec", "turn"}) ends_once(w, name);
}

TEST_CASE("a restart and a death know where a call is about which a human was asked") {
  const bool is_approved = GENERATE(true, false), crashes = GENERATE(true, false);
  CAPTURE(is_approved, crashes);
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("mcp__files__delete", "turn"));
  REQUIRE(w.pause("mcp__files__delete"));
  if (crashes) w.restart();
  if (is_approved) REQUIRE(w.decide("mcp__files__delete", true));
  w.actor_dies("turn");
  ends_once(w, "mcp__files__delete");
  CHECK((w.row("mcp__files__delete").stop->how == receipt::unconfirmed) == is_approved);
}

TEST_CASE("a call of a server that ends here after a stop keeps the proof that its actor gives") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("mcp__files__delete", "turn"));
  REQUIRE(w.begin("mcp__files__delete"));
  w.cancels("turn");
  w.ends("mcp__files__delete");
  CHECK(w.row("mcp__files__delete").stop->how == receipt::cooperative);
}

TEST_CASE("a call that was stopped while a human was asked whether it may run is nowhere") {
  const bool crashes = GENERATE(false, true);
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("mcp__files__delete", "turn"));
  REQUIRE(w.pause("mcp__files__delete"));
  if (crashes) w.restart();
  w.cancels("turn");
  own_outcome nothing_known;
  nothing_known.as = status::failed;
  nothing_known.how = receipt::unconfirmed; // its agent knows only whose tool it is
  nothing_known.evidence = proof::none;
  CHECK_FALSE(w.core->actors()->finish_local(w.id("mcp__files__delete"), nothing_known, w.now));
  w.roll_out();
  CHECK(w.row("mcp__files__delete").stop->how == receipt::cooperative);
  CHECK(w.row("mcp__files__delete").stop->evidence == proof::internal);
}

TEST_CASE("a call of an earlier life that ends without an answer of its server proves nothing") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("mcp__files__delete", "turn"));
  REQUIRE(w.begin("mcp__files__delete"));
  w.restart();
  REQUIRE(w.status_of("mcp__files__delete") == "running");
  w.cancels("mcp__files__delete");
  own_outcome nothing_known;
  nothing_known.as = status::failed;
  CHECK_FALSE(w.core->actors()->finish_local(w.id("mcp__files__delete"), nothing_known, w.now));
  w.roll_out();
  CHECK(w.row("mcp__files__delete").stop->how == receipt::unconfirmed);
  CHECK(w.row("mcp__files__delete").stop->evidence == proof::none);
}

TEST_CASE("what somebody else says later of a call that a restart interrupted is kept") {
  actors_world w;
  w.turn("exchange", "s", false, kind::exchange);
  REQUIRE(w.agent("turn", "exchange", kind::turn));
  for (const auto* call : {"a2a__clerk", "exec"}) {
    REQUIRE(w.call(call, "turn"));
    REQUIRE(w.begin(call));
  }
  w.restart();
  w.roll_out();
  for (const auto* call : {"a2a__clerk", "exec"}) {
    CHECK(w.row(call).error->code == "interrupted");
    w.core->actors()->note_outcome(w.id(call), R"({"server":"done"})");
  }
  w.take();
  CHECK(w.row("a2a__clerk").late == R"({"server":"done"})");
  CHECK(w.row("exec").late.empty());
}

TEST_CASE("what somebody else says in a later life about an end is kept, once and beside an end alone") {
  actors_world w;
  w.turn("turn");
  REQUIRE(w.call("a2a__clerk", "turn"));
  REQUIRE(w.call("exec", "turn"));
  REQUIRE(w.begin("a2a__clerk"));
  w.cancels("a2a__clerk");
  own_outcome nothing_known;
  nothing_known.as = status::failed;
  w.core->actors()->finish_local(w.id("a2a__clerk"), nothing_known, w.now);
  w.roll_out();
  REQUIRE(is_terminal(w.row("a2a__clerk").now));
  w.restart();
  const auto was = w.row("a2a__clerk");
  for (const auto* word : {R"({"server":"done"})", R"({"server":"ignored"})"})
    w.core->actors()->note_outcome(w.id("a2a__clerk"), word);
  w.core->actors()->note_outcome(w.id("exec"), R"({"server":"done"})");
  w.core->actors()->note_outcome(operation_id::fresh(), R"({"server":"done"})"); // its row is gone
  w.take();
  auto with_word = was;
  with_word.late = R"({"server":"done"})";
  CHECK(w.row("a2a__clerk") == with_word);
  CHECK(w.row("exec").late.empty());
}
