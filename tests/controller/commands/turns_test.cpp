// Commands of turns: each step is one transaction with one answer.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

namespace {

struct turns_world : commands_world {
  operation_id turn = add(kind::turn, {});
  std::vector<operation_id> calls;

  operation_id add(quell::kind what, std::optional<operation_id> parent) {
    create_order o;
    o.by = admin();
    o.kind = what;
    o.scope = *scope_path::parse("a");
    o.parent = parent;
    const auto made = done(commands::create_local{std::move(o), operation_id::fresh()});
    REQUIRE(made);
    return made->id;
  }
  commands::begin_turn beginning(bool resumes = false) const {
    commands::begin_turn what{turn, calls, {}};
    if (!resumes) what.started_event = event(event_type::turn_start, turn);
    return what;
  }
  static records::event_record event(event_type type, const operation_id& about) {
    records::event_record e;
    e.type = type;
    e.operation = about;
    return e;
  }
  commands::store_answer an_answer(std::size_t count) {
    commands::store_answer what;
    what.message.id = message_id::fresh();
    what.message.scope = *scope_path::parse("a");
    what.message.role = records::message_role::assistant;
    what.message.turn = turn;
    what.message.text = "I look";
    what.results = message_id::fresh();
    calls.clear();
    for (std::size_t i = 0; i < count; ++i) {
      create_order o;
      o.by = admin();
      o.kind = kind::tool_call;
      o.parent = turn;
      o.start = start_when::later;
      o.call = records::call_record{{}, 0, static_cast<std::uint32_t>(i), "c" + std::to_string(i), "exec", "{}", {}};
      calls.push_back(operation_id::fresh());
      what.calls.push_back({calls.back(), std::move(o)});
    }
    return what;
  }
  /// Begun, with one call that waits.
  operation_id one_call() {
    REQUIRE(done(beginning()).may_run);
    REQUIRE(done(an_answer(1)).empty());
    return calls.front();
  }
  std::optional<status> now_of(const operation_id& id) const {
    const auto view = c->operations().view(id, now);
    return view ? std::optional(view->hot.now) : std::nullopt;
  }
  template <class Row>
  std::vector<Row> rows_of() const {
    std::vector<Row> found;
    for (const auto& batch : edges.batches)
      for (const auto& e : batch)
        if (const auto* row = std::get_if<Row>(&e)) found.push_back(*row);
    return found;
  }
};

template <class Row>
long count_of(const std::vector<records::entry>& batch) {
  return std::count_if(batch.begin(), batch.end(),
                       [](const records::entry& e) { return std::holds_alternative<Row>(e); });
}

own_outcome ended_well() {
  own_outcome end;
  end.call = records::call_outcome{true, false, "1"};
  return end;
}

} // namespace

TEST_CASE("a turn begins, stores an answer with its calls in one batch, and ends") {
  turns_world w;
  const auto begun = w.done(w.beginning());
  CHECK(begun.may_run);
  CHECK(begun.stopped.empty());
  CHECK(w.events("turn_start") == 1);
  const auto before = w.edges.batches.size();
  w.done(w.an_answer(2));
  const auto& batch = w.edges.batches.at(before);
  CHECK(count_of<records::put_message>(batch) == 2); // the answer, and where the results will be shown
  CHECK(count_of<records::put_operation>(batch) == 2);
  for (const auto& call : w.calls) {
    CHECK(w.done(commands::begin_call{call}));
    CHECK(w.done(commands::end_local{call, ended_well()}));
    CHECK_FALSE(w.done(commands::end_local{call, ended_well()}));
  }
  own_outcome end;
  end.completed_data = R"({"text":""})";
  CHECK(w.done(commands::end_local{w.turn, end}));
  CHECK(w.events("turn_complete") == 1);
  CHECK(w.c->operations().live_count() == 0);
}

TEST_CASE("a turn that begins shares its transaction with its first model call") {
  turns_world w;
  const auto before = w.edges.batches.size();
  const auto begun = w.give(w.beginning());
  CHECK(w.c->dirty());
  CHECK(w.c->expects_more()); // the caller may wait a little
  create_order o;
  o.by = w.admin();
  o.kind = kind::model_call;
  o.parent = w.turn;
  const auto opened = w.give(commands::create_local{std::move(o), operation_id::fresh()});
  CHECK_FALSE(w.c->expects_more());
  w.c->end_burst(w.now);
  REQUIRE(w.edges.batches.size() == before + 1);
  CHECK(count_of<records::put_event>(w.edges.batches.back()) >= 2); // the turn's beginning, and the call
  CHECK(count_of<records::put_operation>(w.edges.batches.back()) == 1);
  CHECK_FALSE(begun->has_value()); // not before it is on disk
  w.commit();
  CHECK(begun->value().may_run);
  CHECK(opened->value());
}

TEST_CASE("nothing else waits for what follows the beginning of a turn") {
  turns_world w;
  SECTION("an order that came before") {
    w.give(w.task());
    w.give(w.beginning());
  }
  SECTION("a question that came behind") {
    w.give(w.beginning());
    w.c->ask([](const commit_gate&, moment) { return [] {}; }, w.now);
  }
  SECTION("a cancel that came behind, which ends the transaction") {
    w.give(w.beginning());
    const auto before = w.edges.batches.size();
    w.give(w.cancel_of(w.turn));
    CHECK(w.edges.batches.size() > before);
  }
  SECTION("a tick") {
    w.give(w.beginning());
    w.c->tick(w.now);
    CHECK_FALSE(w.c->dirty());
  }
  CHECK_FALSE(w.c->expects_more());
}

TEST_CASE("the last answer of a turn is stored with its end") {
  turns_world w;
  REQUIRE(w.done(w.beginning()).may_run);
  own_outcome end;
  end.completed_data = R"({"text":"I look"})";
  commands::end_local last{w.turn, end};
  last.last_answer = w.an_answer(0).message;
  const auto before = w.edges.batches.size();
  SECTION("in one batch") {
    CHECK(w.done(last));
    const auto& batch = w.edges.batches.at(before);
    CHECK(count_of<records::put_message>(batch) == 1);
    CHECK(count_of<records::update_operation>(batch) == 1);
    CHECK(w.events("turn_complete") == 1);
  }
  SECTION("also when a cancel came first, which decides the end") {
    REQUIRE(w.done(w.cancel_of(w.turn)));
    w.done(last);
    CHECK(w.events("turn_complete") == 0);
    CHECK(w.rows_of<records::put_message>().size() == 1);
  }
}

TEST_CASE("an answer without calls is one message") {
  turns_world w;
  REQUIRE(w.done(w.beginning()).may_run);
  w.done(w.an_answer(0));
  CHECK(w.rows_of<records::put_message>().size() == 1);
}

TEST_CASE("a cancel right before a turn begins ends it there, and its agent never runs") {
  turns_world w;
  REQUIRE(w.done(w.cancel_of(w.turn)));
  const auto begun = w.done(w.beginning());
  CHECK_FALSE(begun.may_run);
  CHECK(w.events("turn_start") == 0);
  CHECK_FALSE(w.now_of(w.turn));
  CHECK(w.edges.ends.at(w.turn) == 1);
}

TEST_CASE("a cancel right before an answer is stored leaves a complete conversation and no call") {
  turns_world w;
  REQUIRE(w.done(w.beginning()).may_run);
  REQUIRE(w.done(w.cancel_of(w.turn)));
  const auto refused = w.done(w.an_answer(2));
  CHECK(refused == w.calls);
  CHECK(w.rows_of<records::put_message>().size() == 2);
  CHECK(w.rows_of<records::put_call>().size() == 2);
  for (const auto& call : w.calls) CHECK_FALSE(w.now_of(call));
}

TEST_CASE("a call that was stopped while its turn had no agent has ended when the turn goes on") {
  turns_world w;
  const auto first = w.one_call();
  REQUIRE(w.done(w.cancel_of(first)));
  const auto begun = w.done(w.beginning(true));
  CHECK(begun.may_run);
  CHECK(begun.stopped == std::vector{first});
  CHECK_FALSE(w.now_of(first));
  CHECK(w.edges.ends.at(first) == 1);
  CHECK(w.events("turn_start") == 1); // it was told once
}

TEST_CASE("a turn that goes on began when it first began") {
  turns_world w;
  const auto first = w.done(w.beginning()).began;
  w.now.boot = w.now.boot + std::chrono::seconds{5};
  w.now.wall += std::chrono::milliseconds{5000};
  CHECK(w.done(w.beginning(true)).began == first);
}

TEST_CASE("a call waits for its human, who decides once, and not before its agent is there") {
  turns_world w;
  const auto call = w.one_call();
  CHECK(w.done(commands::await_approval{call, w.event(event_type::approval_required, call)}));
  CHECK(w.events("approval_required") == 1);
  CHECK(w.now_of(call) == status::paused);
  const decision yes{approval_outcome::approved, "", {"ann", "Ann"}, R"({"decision":"approved"})"};
  CHECK_FALSE(w.done(commands::decide_call{call, yes, {}, false}));
  CHECK(w.now_of(call) == status::paused);
  CHECK(w.done(commands::decide_call{call, yes, {}, true}).value());
  CHECK(w.done(commands::decide_call{call, yes, {}, true}).value().error().error.code == error_code::not_paused);
}

TEST_CASE("nobody is asked about a call that was stopped right before") {
  turns_world w;
  const auto call = w.one_call();
  REQUIRE(w.done(w.cancel_of(call)));
  CHECK_FALSE(w.done(commands::await_approval{call, w.event(event_type::approval_required, call)}));
  CHECK_FALSE(w.done(
      commands::ask_question{call, {operation_id::fresh(), "{}"}, w.event(event_type::approval_required, call)}));
  CHECK_FALSE(w.done(commands::begin_call{call}));
  CHECK(w.events("approval_required") == 0);
}

TEST_CASE("a running call asks, takes back, asks again and is answered once") {
  turns_world w;
  const auto call = w.one_call();
  REQUIRE(w.done(commands::begin_call{call}));
  const auto first = operation_id::fresh(), second = operation_id::fresh();
  CHECK(w.done(commands::ask_question{call, {first, "{}"}, w.event(event_type::approval_required, call)}));
  CHECK_FALSE(w.done(commands::ask_question{call, {second, "{}"}, w.event(event_type::approval_required, call)}));
  CHECK_FALSE(w.done(commands::take_back_question{call, second}));
  CHECK(w.done(commands::take_back_question{call, first}));
  CHECK(w.done(commands::ask_question{call, {second, "{}"}, w.event(event_type::approval_required, call)}));
  const human_answer answer{second, true, false, "{}", "", {"ann", "Ann"}, R"({"decision":"approved"})"};
  CHECK(w.done(commands::answer_question{call, answer}));
  CHECK(w.done(commands::answer_question{call, answer}).error().error.code == error_code::not_paused);
  CHECK(w.now_of(call) == status::running);
}

TEST_CASE("what has begun goes on while the disk is almost full") {
  turns_world w;
  w.edges.low = true;
  CHECK(w.done(w.task()).error().error.code == error_code::storage_unavailable);
  w.add(kind::model_call, w.turn);
}

TEST_CASE("a late outcome waits for the end that it is kept beside") {
  turns_world w;
  const auto call = w.one_call();
  REQUIRE(w.done(commands::begin_call{call}));
  CHECK_FALSE(w.done(commands::note_call_outcome{call, "{}", commands::noted_call::ended}));
  REQUIRE(w.done(commands::end_local{call, ended_well()}));
  CHECK(w.done(commands::note_call_outcome{call, "{}", commands::noted_call::ended}));
}

TEST_CASE("a timeout stops a call with the result that it is given") {
  turns_world w;
  const auto call = w.one_call();
  REQUIRE(w.done(commands::begin_call{call}));
  w.done(commands::stop_local{
      {call, operation_id::fresh()}, stop_cause::timeout, records::call_outcome{false, false, R"({"ok":false})"}});
  w.done(commands::end_local{call, ended_well()});
  const auto results = w.rows_of<records::put_call_result>(); // the first stands: the table refuses another
  REQUIRE_FALSE(results.empty());
  CHECK(results.front().outcome.result == R"({"ok":false})");
}

TEST_CASE("a sub-agent that cannot begin leaves no message") {
  turns_world w;
  const auto call = w.one_call();
  REQUIRE(w.done(commands::begin_call{call}));
  commands::begin_sub_agent what;
  what.id = operation_id::fresh();
  what.order.by = w.admin();
  what.order.kind = kind::sub_agent;
  what.order.parent = call;
  what.task.id = message_id::fresh();
  what.task.scope = *scope_path::parse("a");
  what.task.aside = true;
  what.task.turn = what.id;
  const auto before = w.rows_of<records::put_message>().size();
  CHECK(w.done(what));
  CHECK(w.rows_of<records::put_message>().size() == before + 1);
  REQUIRE(w.done(w.cancel_of(call)));
  what.id = operation_id::fresh();
  CHECK_FALSE(w.done(what));
  CHECK(w.rows_of<records::put_message>().size() == before + 1);
}

TEST_CASE("open turns are found after a restart, those that wait and those that began") {
  turns_world w;
  REQUIRE(w.done(w.beginning()).may_run);
  const auto second = w.add(kind::turn, {});
  const auto found = w.done(commands::pick_up_turns{});
  REQUIRE(found.open.size() == 2);
  CHECK(found.open[0].turn == w.turn);
  CHECK(found.open[0].resumes);
  CHECK(found.open[1].turn == second);
  CHECK(found.interrupted.empty());
}

TEST_CASE("an answer can be taken at once, before it is on disk, and leaves only if it still may") {
  turns_world w;
  std::vector<std::string> seen;
  bool may_leave = true;
  const auto give = [&] {
    command_request request{w.beginning(), [&](const commands::turn_begun&) { seen.push_back("done"); },
                            [&](const commands::turn_begun& begun) { seen.push_back(begun.may_run ? "runs" : "not"); }};
    request.only_if([&] { return may_leave; });
    w.c->execute(std::move(request), w.now);
  };
  give();
  w.c->end_burst(w.now);
  CHECK(seen == std::vector<std::string>{"runs"});
  w.commit();
  CHECK(seen == std::vector<std::string>{"runs", "done"});
  may_leave = false;
  give();
  w.c->end_burst(w.now);
  w.commit();
  CHECK(seen.size() == 3);
}

TEST_CASE("workers are told of the controller's next key, and its change is in the audit") {
  commands_world w;
  w.worker_joins();
  w.commit();
  w.done(commands::announce_controller_key{std::string(40, 'k'), {}});
  CHECK(w.events("audit") == 0);
  w.done(commands::announce_controller_key{"", std::string(40, 'k')});
  CHECK(w.events("audit") == 1);
}

TEST_CASE("the owner of an external operation finds out that it must stop") {
  commands_world w;
  const auto id = w.done(w.external())->id;
  CHECK_FALSE(w.done(commands::find_external_stop{id, w.admin()}).value());
  CHECK(w.done(commands::find_session_stops{"runtime", w.admin()}).empty());
  REQUIRE(w.done(w.cancel_of(id)));
  CHECK(w.done(commands::find_external_stop{id, w.admin()}).value()->operation == id);
  CHECK(w.done(commands::find_session_stops{"runtime", w.admin()}).size() == 1);
}
