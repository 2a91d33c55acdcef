// Messages that come while a turn of their scope runs: they wait, steer it or supersede it.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;
using manner = turns::during_turn;
using next_step = commands::taken_message::then;

namespace {

struct during_world : commands_world {
  const scope_path a = *scope_path::parse("a");
  const commands::take_message first = message(manner::queue);

  during_world() {
    REQUIRE(done(first).next == next_step::begin_turn);
    REQUIRE(done(commands::begin_turn{first.turn, {}, {}}).may_run);
  }
  commands::take_message message(manner how, const std::string& author = "ada") const {
    commands::take_message what;
    what.order.by = admin();
    what.order.scope = a;
    what.order.text = "in French";
    what.order.author.id = author;
    what.order.during = how;
    what.agent = commands::answering_agent{"main", milliseconds{0}, "{}"};
    what.message = message_id::fresh();
    what.turn = operation_id::fresh();
    what.cancel = cancel_id::fresh();
    return what;
  }
  commands::open_steered_call next_call(const std::vector<operation_id>& waiting) const {
    commands::open_steered_call what;
    what.call.order.by = admin();
    what.call.order.kind = kind::model_call;
    what.call.order.parent = first.turn;
    what.call.id = operation_id::fresh();
    what.call.turn = first.turn;
    for (const auto& turn : waiting) {
      commands::open_steered_call::steering one;
      one.turn = turn;
      one.message.id = message_id::fresh();
      one.message.scope = a;
      one.message.turn = first.turn;
      one.end.completed_data = "{}";
      one.event.type = event_type::turn_steered;
      what.all.push_back(std::move(one));
    }
    return what;
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

} // namespace

TEST_CASE("a message that steers waits as a turn and is told with the next model call, in one batch", "[during_turn]") {
  during_world w;
  const auto more = w.message(manner::steer);
  const auto taken = w.done(more);
  REQUIRE(taken.answer);
  CHECK(taken.next == next_step::queue_turn);
  CHECK(taken.answer->during == manner::steer);
  CHECK(taken.answer->met == w.first.turn);
  CHECK(w.now_of(more.turn) == status::pending);
  const auto before = w.edges.batches.size();
  const auto delivery = w.done(w.next_call({more.turn}));
  CHECK(delivery.call);
  CHECK(delivery.delivered == std::vector{more.turn});
  CHECK_FALSE(w.now_of(more.turn));
  const auto& batch = w.edges.batches.at(before); // one transaction has all of it
  const auto has = [&](auto row) {
    return std::any_of(batch.begin(), batch.end(),
                       [](const records::entry& e) { return std::holds_alternative<decltype(row)>(e); });
  };
  CHECK(has(records::put_message{}));
  CHECK(has(records::discard_message{}));
  CHECK(has(records::put_operation{}));
  CHECK(w.events("turn_steered") == 1);
  CHECK(w.done(w.next_call({more.turn})).delivered.empty()); // once
}

TEST_CASE("a turn that was told to stop takes no message any more", "[during_turn]") {
  during_world w;
  const auto more = w.message(manner::steer);
  REQUIRE(w.done(more).answer);
  REQUIRE(w.done(w.cancel_of(w.first.turn)));
  const auto delivery = w.done(w.next_call({more.turn}));
  CHECK_FALSE(delivery.call);
  CHECK(delivery.delivered.empty());
  CHECK(w.now_of(more.turn) == status::pending);
  CHECK(w.events("turn_steered") == 0);
  // Nor does one that comes now: it waits for a turn of its own.
  const auto late = w.done(w.message(manner::steer));
  REQUIRE(late.answer);
  CHECK(late.answer->during == manner::queue);
  CHECK_FALSE(late.answer->met);
}

TEST_CASE("a waiting message that was stopped itself is not told", "[during_turn]") {
  during_world w;
  const auto more = w.message(manner::steer);
  REQUIRE(w.done(more).answer);
  REQUIRE(w.done(w.cancel_of(more.turn)));
  const auto delivery = w.done(w.next_call({more.turn}));
  CHECK(delivery.call);
  CHECK(delivery.delivered.empty());
}

TEST_CASE("nobody steers a turn that acts for another person", "[during_turn]") {
  during_world w;
  const auto taken = w.done(w.message(manner::steer, "bob"));
  REQUIRE(taken.answer);
  CHECK(taken.next == next_step::queue_turn);
  CHECK(taken.answer->during == manner::queue);
}

TEST_CASE("a chat steers only a turn that a chat began, whoever it says is speaking", "[during_turn]") {
  during_world w;
  const auto by_chat = [&](manner how, const char* scope) {
    auto what = w.message(how);
    what.order.by.role = role::chat;
    what.order.scope = *scope_path::parse(scope);
    return what;
  };
  const auto taken = w.done(by_chat(manner::steer, "a"));
  REQUIRE(taken.answer);
  CHECK(taken.answer->during == manner::queue);
  CHECK_FALSE(taken.answer->met);

  REQUIRE(w.done(by_chat(manner::queue, "b")).next == next_step::begin_turn);
  CHECK(w.done(by_chat(manner::steer, "b")).answer->during == manner::steer);

  // A chat's message that is asked again repeats the chat's words.
  auto again = w.message(manner::queue);
  again.order.scope = *scope_path::parse("c");
  again.order.was_by_chat = true;
  REQUIRE(w.done(again).next == next_step::begin_turn);
  CHECK(w.done(by_chat(manner::steer, "c")).answer->during == manner::steer);

  // A later life names how its turns began.
  w.done(commands::note_turn_begun{w.first.turn, "ada", w.a, turns::turn_of::message, "main", turns::brought_by::chat});
  CHECK(w.done(by_chat(manner::steer, "a")).answer->during == manner::steer);
}

TEST_CASE("who steers asks for nothing that only a turn of its own can have", "[during_turn]") {
  using change = void (*)(turns::message_order&);
  const std::pair<const char*, change> unheard[] = {
      {"/agent", [](turns::message_order& o) { o.agent = "other"; }},
      {"/labels", [](turns::message_order& o) { o.labels["a"] = "b"; }},
      {"/timeout_ms", [](turns::message_order& o) { o.timeout = milliseconds{5}; }},
      {"/budget", [](turns::message_order& o) { o.budget.emplace(); }},
      {"/model", [](turns::message_order& o) { o.model = "big"; }},
      {"/tools", [](turns::message_order& o) { o.tools.emplace(); }},
  };
  during_world w;
  for (const auto& [pointer, ask_for] : unheard) {
    INFO(pointer);
    auto what = w.message(manner::steer);
    ask_for(what.order);
    const auto refused = w.done(what);
    REQUIRE_FALSE(refused.answer);
    CHECK(refused.answer.error().error.code == error_code::invalid_field);
    CHECK(refused.answer.error().error.pointer == pointer);
    CHECK_FALSE(w.now_of(what.turn));
    // The agent's default steers nobody who asks for more, and nobody else's message steers.
    auto by_default = w.message(manner::steer);
    ask_for(by_default.order);
    by_default.order.is_during_default = true;
    CHECK(w.done(by_default).answer->during == manner::queue);
    auto by_another = w.message(manner::steer, "bob");
    ask_for(by_another.order);
    CHECK(w.done(by_another).answer->during == manner::queue);
  }
  auto same = w.message(manner::steer);
  same.order.agent = "main"; // that runs
  CHECK(w.done(same).answer->during == manner::steer);
}

TEST_CASE("a turn does not hang below a turn of its own scope", "[during_turn]") {
  during_world w;
  auto what = w.message(manner::queue);
  what.order.parent = w.first.turn;
  const auto refused = w.done(what);
  REQUIRE_FALSE(refused.answer);
  CHECK(refused.answer.error().error.pointer == "/parent");
  what = w.message(manner::queue);
  what.order.scope = *scope_path::parse("a/b");
  what.order.parent = w.first.turn;
  REQUIRE(w.done(what).answer);
  REQUIRE(w.done(w.cancel_of(w.first.turn)));
  CHECK(w.now_of(what.turn) == status::cancelling);
  auto late = w.message(manner::queue);
  late.order.scope = *scope_path::parse("a/b");
  late.order.parent = w.first.turn;
  const auto stale = w.done(late);
  REQUIRE_FALSE(stale.answer);
  CHECK(stale.answer.error().error.code == error_code::stale_start);
}

TEST_CASE("to supersede stops the running turn alone, with one cancel, and waits behind what waits", "[during_turn]") {
  during_world w;
  const auto waiting = w.message(manner::queue, "bob");
  REQUIRE(w.done(waiting).answer);
  const auto other = w.message(manner::supersede);
  const auto taken = w.done(other);
  REQUIRE(taken.answer);
  CHECK(taken.answer->decision == turns::message_answer::decided::turn);
  CHECK(taken.answer->during == manner::supersede);
  CHECK(taken.answer->met == w.first.turn);
  CHECK(taken.answer->cancel == other.cancel);
  CHECK(taken.fences == other.cancel);
  CHECK(taken.answer->position == 2);
  CHECK(w.now_of(w.first.turn) == status::cancelling);
  CHECK(w.now_of(waiting.turn) == status::pending);
  CHECK(w.now_of(other.turn) == status::pending);
}

TEST_CASE("who may not stop a turn does not supersede it", "[during_turn]") {
  during_world w;
  auto what = w.message(manner::supersede, "bob");
  what.order.modality = turns::modality::voice;
  what.order.humans_present = 3;
  const auto taken = w.done(what);
  REQUIRE(taken.answer);
  CHECK(taken.answer->why == "no_standing");
  CHECK_FALSE(taken.answer->cancel);
  CHECK(w.now_of(w.first.turn) == status::running);
}

TEST_CASE("where nothing runs each manner is an ordinary turn, and the decision says nothing of it", "[during_turn]") {
  for (const auto how : {manner::queue, manner::steer, manner::supersede}) {
    during_world w;
    auto what = w.message(how);
    what.order.scope = *scope_path::parse("b");
    const auto taken = w.done(what);
    REQUIRE(taken.answer);
    CHECK(taken.next == next_step::begin_turn);
    CHECK(turns::decision_json(what.order, *taken.answer).find("during_turn") == std::string::npos);
  }
}

namespace {

/// The first turn asks its people something.
struct asking_world : during_world {
  operation_id call;
  const operation_id question = operation_id::fresh();

  asking_world() {
    create_order order;
    order.by = admin();
    order.kind = kind::tool_call;
    order.parent = first.turn;
    order.name = "ask_user";
    order.start = start_when::later;
    order.call = records::call_record{{}, 1, 0, "c", "ask_user", "{}", {}};
    call = operation_id::fresh();
    REQUIRE(done(commands::create_local{order, call}));
    REQUIRE(done(commands::begin_call{call}));
    REQUIRE(done(commands::ask_question{call, {question, "{}", question_source::agent}, {}}));
  }
  commands::take_message answer(manner how, const std::string& author = "ada") const {
    auto what = message(how, author);
    commands::possible_answer one;
    one.turn = first.turn;
    one.owner = "ada";
    one.call = call;
    one.given = {question, true, false, R"({"answer":"in French"})", "", {author, ""}, R"({"decision":"approved"})"};
    one.end.result = R"({"ok":true})";
    one.end.call = records::call_outcome{true, false, one.end.result};
    one.message_end.completed_data = "{}";
    what.answers.push_back(std::move(one));
    return what;
  }
};

} // namespace

TEST_CASE("a message that answers what its author's turn asks ends the call in one batch", "[during_turn]") {
  asking_world w;
  const auto reply = w.answer(manner::queue);
  const auto before = w.edges.batches.size();
  const auto taken = w.done(reply);
  REQUIRE(taken.answer);
  CHECK(taken.next == next_step::answer);
  CHECK(taken.answered->given.question == w.question);
  CHECK(taken.answer->during == manner::answer);
  CHECK(taken.answer->met == w.first.turn);
  CHECK(taken.answer->turn_status == status::completed);
  CHECK(w.edges.batches.size() == before + 1);
  CHECK_FALSE(w.now_of(w.call));
  CHECK_FALSE(w.now_of(reply.turn));
  CHECK(w.now_of(w.first.turn) == status::running);
  REQUIRE(w.rows_of<records::put_call_result>().size() == 1);
  CHECK(w.rows_of<records::put_call_result>().front().outcome.result == R"({"ok":true})");
  const auto messages = w.rows_of<records::put_message>();
  CHECK(messages.back().record.discarded);
  CHECK(w.events("turn_complete") == 1);
  // Once: the next message waits, and one that must be an answer is refused.
  CHECK(w.done(w.answer(manner::queue)).next == next_step::queue_turn);
  const auto late = w.done(w.answer(manner::answer));
  REQUIRE_FALSE(late.answer);
  CHECK(late.answer.error().error.code == error_code::not_paused);
}

TEST_CASE("nobody else's message is the answer, and none is after a stop", "[during_turn]") {
  asking_world w;
  CHECK(w.done(w.answer(manner::queue, "bob")).next == next_step::queue_turn);
  CHECK(w.now_of(w.call) == status::paused);
  REQUIRE(w.done(w.cancel_of(w.first.turn)));
  CHECK(w.done(w.answer(manner::queue)).next == next_step::queue_turn);
  CHECK(w.done(w.answer(manner::answer)).answer.error().error.code == error_code::not_paused);
}

TEST_CASE("a chat answers what a turn asks only if a chat began it, whoever it says is speaking", "[during_turn]") {
  asking_world w;
  const auto by_chat = [&](manner how) {
    auto what = w.answer(how);
    what.order.by.role = role::chat;
    return what;
  };
  CHECK(w.done(by_chat(manner::queue)).next == next_step::queue_turn);
  const auto refused = w.done(by_chat(manner::answer));
  REQUIRE_FALSE(refused.answer);
  CHECK(refused.answer.error().error.code == error_code::not_paused);
  CHECK(w.now_of(w.call) == status::paused);

  auto to_a_chats_turn = by_chat(manner::answer);
  to_a_chats_turn.answers.front().is_by_chat = true;
  CHECK(w.done(to_a_chats_turn).answered);
}

TEST_CASE("a person with their own token answers what a chat's turn asks them", "[during_turn]") {
  asking_world w;
  auto reply = w.answer(manner::queue);
  reply.answers.front().is_by_chat = true;
  CHECK(w.done(reply).answered);
}

TEST_CASE("an answer that comes before the agent is back does not stop its call", "[during_turn]") {
  for (const bool asks : {true, false}) {
    CAPTURE(asks);
    asking_world w;
    REQUIRE(w.done(w.answer(manner::queue)).answered);
    commands::begin_turn again{w.first.turn, {w.call}, {}};
    again.resumes = true;
    if (asks) again.asking = {w.call};
    const auto begun = w.done(again);
    CHECK(begun.may_run);
    CHECK(begun.stopped.empty() == asks);
  }
}
