// Changes of conversations among the turns of their scopes.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;
using next_step = commands::taken_message::then;

namespace {

struct history_world : commands_world {
  const scope_path a = *scope_path::parse("a"), b = *scope_path::parse("b");
  const operation_id change = operation_id::fresh();

  commands::take_message message(const scope_path& scope) const {
    commands::take_message what;
    what.order.by = admin();
    what.order.scope = scope;
    what.order.text = "go on";
    what.order.author = admin().owner;
    what.agent = commands::answering_agent{"main", milliseconds{0}, "{}"};
    what.message = message_id::fresh();
    what.turn = operation_id::fresh();
    what.cancel = cancel_id::fresh();
    return what;
  }
  commands::take_message again(const operation_id& old, std::optional<std::uint64_t> as_of = {}) const {
    auto what = message(a);
    what.again = commands::question_again{change, {old}, as_of};
    return what;
  }
  template <class Row>
  long rows_of() const {
    long found = 0;
    for (const auto& batch : edges.batches)
      found += std::count_if(batch.begin(), batch.end(),
                             [](const records::entry& e) { return std::holds_alternative<Row>(e); });
    return found;
  }
};

} // namespace

TEST_CASE("what steered a turn is asked again with its message, in one transaction", "[history]") {
  history_world w;
  const auto old = w.message(w.a);
  REQUIRE(w.done(old).next == next_step::begin_turn);
  REQUIRE(w.done(commands::end_local{old.turn, {}}));
  w.done(commands::leave_turn{old.turn, w.a});
  REQUIRE(w.done(commands::begin_history_change{w.change, {w.a}}));
  auto step = w.again(old.turn);
  for (const char* text : {"in French", "and short"}) {
    auto& copy = step.again->steering.emplace_back();
    copy.id = message_id::fresh();
    copy.scope = w.a;
    copy.text = text;
    copy.decision = R"({"steered_from":"x"})";
  }
  const auto before = w.edges.batches.size();
  const auto taken = w.done(step);
  REQUIRE(taken.answer);
  std::vector<std::string> texts;
  std::uint64_t last = 0;
  for (const auto& row : w.edges.batches.at(before))
    if (const auto* put = std::get_if<records::put_message>(&row)) {
      texts.push_back(put->record.text);
      CHECK(put->record.turn == step.turn);
      CHECK(put->record.seq > last);
      last = put->record.seq;
    }
  CHECK(texts == std::vector<std::string>{"go on", "in French", "and short"});
  CHECK(taken.answer->seq == last); // the newest of the conversation
}

TEST_CASE("a change of a conversation is refused while a turn runs or waits", "[history]") {
  history_world w;
  const auto turn = w.message(w.b);
  REQUIRE(w.done(turn).next == next_step::begin_turn);
  const auto refused = w.done(commands::begin_history_change{w.change, {w.a, w.b}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error.code == error_code::turn_running);
  CHECK(w.done(w.message(w.a)).next == next_step::begin_turn); // no scope was entered
  CHECK_FALSE(w.done(commands::leave_turn{turn.turn, w.b}));
  CHECK(w.done(commands::begin_history_change{w.change, {w.b}}));
}

TEST_CASE("a turn that has ended and did not leave yet is not in the way of a change", "[history]") {
  history_world w;
  const auto turn = w.message(w.a);
  REQUIRE(w.done(turn).next == next_step::begin_turn);
  REQUIRE(w.done(commands::end_local{turn.turn, {}}));
  REQUIRE(w.done(commands::begin_history_change{w.change, {w.a}}));
  const auto late = w.message(w.a);
  CHECK(w.done(late).next == next_step::queue_turn);
  CHECK_FALSE(w.done(commands::leave_turn{turn.turn, w.a})); // the change is still there
  const auto next = w.done(commands::leave_turn{w.change, w.a});
  REQUIRE(next);
  CHECK(next->turn == late.turn);
}

TEST_CASE("a message behind an ended turn is in the way of a change, and is begun when that turn leaves", "[history]") {
  history_world w;
  const auto turn = w.message(w.a), second = w.message(w.a);
  REQUIRE(w.done(turn).next == next_step::begin_turn);
  REQUIRE(w.done(second).next == next_step::queue_turn);
  REQUIRE(w.done(commands::end_local{turn.turn, {}}));
  const auto refused = w.done(commands::begin_history_change{w.change, {w.a}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error.code == error_code::turn_running);
  const auto next = w.done(commands::leave_turn{turn.turn, w.a});
  REQUIRE(next);
  CHECK(next->turn == second.turn);
}

TEST_CASE("a message that comes during a change waits until it is over", "[history]") {
  history_world w;
  const auto begun = w.done(commands::begin_history_change{w.change, {w.a, w.b}});
  REQUIRE(begun);
  CHECK(*begun == w.c->operations().last_seq());
  const auto other = w.done(commands::begin_history_change{operation_id::fresh(), {w.b}});
  REQUIRE_FALSE(other);
  CHECK(other.error().error.code == error_code::turn_running);
  const auto late = w.message(w.a);
  const auto taken = w.done(late);
  CHECK(taken.next == next_step::queue_turn);
  CHECK(taken.answer->turn_status == status::pending);
  const auto next = w.done(commands::leave_turn{w.change, w.a});
  REQUIRE(next);
  CHECK(next->turn == late.turn);
  CHECK_FALSE(w.done(commands::leave_turn{w.change, w.b}));
  CHECK_FALSE(w.done(commands::leave_turn{w.change, w.a})); // a second time does nothing
}

TEST_CASE("asking again writes the new turn and the end of the old exchange together", "[history]") {
  history_world w;
  const auto old = operation_id::fresh();
  REQUIRE(w.done(commands::begin_history_change{w.change, {w.a}}));
  const auto what = w.again(old);
  const auto before = w.edges.batches.size();
  const auto taken = w.done(what);
  REQUIRE(taken.answer);
  CHECK(taken.next == next_step::queue_turn);
  CHECK(taken.answer->why == "regenerated");
  REQUIRE(w.edges.batches.size() == before + 1);
  CHECK(w.rows_of<records::discard_message>() == 1);
  CHECK(w.rows_of<records::put_message>() == 1);
  const auto next = w.done(commands::leave_turn{w.change, w.a});
  REQUIRE(next);
  CHECK(next->turn == what.turn);
}

TEST_CASE("asking again does nothing behind another message, after a stop or after its change", "[history]") {
  history_world w;
  const auto old = operation_id::fresh();
  const auto code = [&](const commands::take_message& what) {
    const auto taken = w.done(what);
    REQUIRE_FALSE(taken.answer);
    CHECK(w.rows_of<records::discard_message>() == 0);
    return taken.answer.error().error.code;
  };
  CHECK(code(w.again(old)) == error_code::turn_running); // there is no such change
  const auto begun = w.done(commands::begin_history_change{w.change, {w.a}});
  REQUIRE(begun);
  auto stop = w.cancel_of(operation_id::fresh());
  stop.order.target = records::target_scope{w.a};
  REQUIRE(w.done(stop));
  CHECK(code(w.again(old, *begun)) == error_code::stale_start);
  REQUIRE(w.done(w.message(w.a)).next == next_step::queue_turn);
  CHECK(code(w.again(old)) == error_code::turn_running);
}

TEST_CASE("nothing is changed while the disk is almost full", "[history]") {
  history_world w;
  w.edges.low = true;
  const auto refused = w.done(commands::begin_history_change{w.change, {w.a}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error.code == error_code::storage_unavailable);
  w.edges.low = false;
  CHECK(w.done(commands::begin_history_change{w.change, {w.a}}));
}

TEST_CASE("a summary is stored with the end of its call, or not at all", "[history]") {
  for (const bool is_stopped : {false, true}) {
    history_world w;
    create_order order;
    order.by = w.admin();
    order.kind = kind::model_call;
    order.scope = w.a;
    const auto call = w.done(commands::create_local{order, operation_id::fresh()});
    REQUIRE(call);
    if (is_stopped) REQUIRE(w.done(w.cancel_of(call->id)));
    commands::store_summary what;
    what.call.call = call->id;
    what.call.turn = operation_id::fresh();
    what.call.used = {w.a, "ada", "main", "m", {10, 2}};
    what.summary.emplace();
    what.summary->id = message_id::fresh();
    what.summary->scope = w.a;
    const auto closed = w.done(what);
    CHECK(closed.has_this_end != is_stopped);
    CHECK(w.rows_of<records::put_message>() == (is_stopped ? 0 : 1));
    CHECK(w.rows_of<records::add_cost>() == 1); // what was used is counted all the same
  }
}
