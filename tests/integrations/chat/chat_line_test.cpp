// The signs for people while their turn waits: a reaction, the number of turns ahead, and neither once it begins.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using quell::integrations::chat::testing::played_service;

namespace {

using strings = std::vector<std::string>;

outbox_rules visible() {
  outbox_rules rules;
  rules.can_take_back = rules.shows_place = true;
  return rules;
}

struct line_world : played_service {
  explicit line_world(outbox_rules r = visible()) : played_service(std::move(r)) {}

  operation_id wait(std::uint32_t position, const std::string& service_id) {
    auto d = taken(message_id::fresh());
    const auto turn = operation_id::fresh();
    d.turn = turn;
    d.position = position;
    box.on_decision(place(), d, service_id, now);
    return turn;
  }
  strings shown() {
    run_dry();
    return std::exchange(posted_texts, {});
  }
};

} // namespace

TEST_CASE("the number follows the line, and what shows the wait goes when the turn begins", "[outbox]") {
  line_world s;
  const auto second = s.wait(1, "m2"), third = s.wait(2, "m3");
  CHECK(s.shown() == strings{"react m2 👀", "react m3 👀", "post In line, behind 2."});
  s.start(second);
  CHECK(s.shown() == strings{"unreact m2 👀", "edit 1 In line, behind 1."});
  s.start(third);
  s.complete(third, "Done.");
  CHECK(s.shown() == strings{"post Done.", "unreact m3 👀", "remove 1"}); // the reply goes first
  CHECK(s.box.waiting() == 0);
  CHECK(s.keeps_nothing());
}

TEST_CASE("a turn that is stopped while it waits leaves the line, and those behind it move up", "[outbox]") {
  line_world s;
  const auto second = s.wait(1, "m2"), third = s.wait(2, "m3");
  (void)s.wait(3, "m4");
  (void)s.shown();
  for (const char* type : {"operation_cancelling", "operation_cancelled"}) s.tell(type, third, "{}"); // counted once
  CHECK(s.shown() == strings{"unreact m3 👀", "edit 2 In line, behind 2.", "remove 1"});
  s.tell("operation_cancelled", second, "{}");
  CHECK(s.shown() == strings{"unreact m2 👀", "edit 2 In line, behind 1."});
}

TEST_CASE("a stop of the whole place takes back all of it, also what is on its way", "[outbox]") {
  line_world s;
  (void)s.wait(1, "m2");
  (void)s.wait(2, "m3");
  const auto flying = s.box.due(s.now); // the first reaction
  REQUIRE(flying.size() == 1);
  s.box.drop_all(played_service::place(), s.now);
  s.box.done(flying[0].number, {}, s.now);
  CHECK(s.shown() == strings{"unreact m2 👀"}); // the others were never shown
}

TEST_CASE("without the number there is a reaction alone, and one that cannot be taken back stays", "[outbox]") {
  auto rules = visible();
  rules.shows_place = false;
  line_world reacts(rules);
  const auto turn = reacts.wait(5, "m2");
  CHECK(reacts.shown() == strings{"react m2 👀"});
  reacts.start(turn);
  CHECK(reacts.shown() == strings{"unreact m2 👀"});
  line_world stays{outbox_rules{}};
  const auto other = stays.wait(5, "m2");
  stays.start(other);
  CHECK(stays.shown().empty()); // it was not sent yet
  (void)stays.wait(5, "m3");
  CHECK(stays.shown() == strings{"react m3 👀"});
}

TEST_CASE("what cannot be taken back is tried no more", "[outbox]") {
  line_world s;
  const auto turn = s.wait(2, "m2");
  (void)s.shown();
  s.start(turn);
  for (int i = 0; i < 2; ++i) {
    const auto actions = s.box.due(s.now);
    REQUIRE(actions.size() == 1);
    s.box.done(actions[0].number, {outcome::refused}, s.now);
    s.pass(milliseconds{60'000});
  }
  CHECK(s.box.due(s.now).empty());
  CHECK(s.box.dropped() == 0); // no text was lost
}

TEST_CASE("the next life takes back what an earlier one showed", "[outbox][restart]") {
  for (const auto how : {std::optional(status::running), std::optional<status>(), std::optional(status::pending)}) {
    line_world s;
    const auto turn = s.wait(2, "m2");
    (void)s.shown();
    line_world next;
    CHECK(next.box.recover(s.box.kept(), next.now) == std::vector<operation_id>{turn});
    next.messages = s.messages;
    next.events = s.events;
    next.box.looked(turn, how, next.now);
    if (how == status::pending) {
      CHECK(next.shown().empty());
      CHECK_FALSE(next.keeps_nothing());
      next.start(turn);
    }
    CHECK(next.shown() == strings{"unreact m2 👀", "remove 1"});
    CHECK(next.keeps_nothing());
  }
}

TEST_CASE("a long line costs the place none of its texts, and moves no faster than the pace", "[outbox]") {
  auto rules = visible();
  rules.of_place = {milliseconds{1000}, 1};
  line_world s(rules);
  std::vector<operation_id> turns;
  for (std::uint32_t i = 1; i <= 1000; ++i) turns.push_back(s.wait(i, "m" + std::to_string(i)));
  const auto before = s.now;
  s.run_dry();
  CHECK(s.box.dropped() == 0);
  CHECK(s.now - before >= (s.sent_actions.size() - 1) * milliseconds{1000});
  const auto reply = operation_id::fresh();
  s.start(reply);
  s.complete(reply, "Here I am.");
  s.run_dry();
  CHECK(std::count(s.posted_texts.begin(), s.posted_texts.end(), "post Here I am.") == 1);
}

namespace {

/// A turn that has begun and waits for its model.
struct model_wait_world : line_world {
  operation_id turn = operation_id::fresh();

  model_wait_world() {
    const auto message = message_id::fresh();
    auto d = taken(message);
    d.turn = turn;
    box.on_decision(place(), d, "m1", now);
    start(turn, message.text());
    tell("model_queued", turn, R"({"model":"m","ahead":40})");
  }
};

} // namespace

TEST_CASE("a turn whose model serves others first shows that it waits, until it is asked", "[outbox]") {
  model_wait_world s;
  CHECK(s.shown() == strings{"react m1 👀"});
  s.tell("model_queued", s.turn, R"({"model":"m","ahead":2})"); // another one
  CHECK(s.shown().empty());
  s.tell("model_asked", s.turn, R"({"model":"m","waited_ms":60000})");
  CHECK(s.shown() == strings{"unreact m1 👀"});
  s.delta(s.turn, 0, "Half ");
  s.tell("model_queued", s.turn, R"({"model":"m","ahead":1})"); // its text stands there
  s.complete(s.turn, "Half done.");
  CHECK(s.shown() == strings{"post Half done."});
  CHECK(s.keeps_nothing());
}

TEST_CASE("a short wait for a model is not shown", "[outbox]") {
  model_wait_world s;
  s.pump();
  s.pass(milliseconds{1'900});
  s.pump();
  s.tell("model_asked", s.turn, R"({"model":"m","waited_ms":1900})");
  s.complete(s.turn, "Done.");
  CHECK(s.shown() == strings{"post Done."});
}

TEST_CASE("the sign that a turn waits for its model goes with the turn, however it ends", "[outbox]") {
  model_wait_world s;
  CHECK(s.shown() == strings{"react m1 👀"});
  SECTION("stopped") {
    s.tell("operation_cancelling", s.turn, "{}");
    s.abort(s.turn);
    CHECK(s.shown() == strings{"unreact m1 👀"});
  }
  SECTION("answered by another model") {
    s.delta(s.turn, 0, "Done.");
    s.complete(s.turn, "Done.");
    CHECK(s.shown() == strings{"post Done.", "unreact m1 👀"});
  }
  SECTION("after a restart of quelld") {
    quell::integrations::chat::testing::next_life next(s);
    CHECK(next.box.recover(s.box.kept(), next.now) == std::vector<operation_id>{s.turn});
    next.box.caught_up(next.events, true);
    next.box.looked(s.turn, status::running, next.now);
    next.tell("turn_resumed", s.turn, R"({"offset":0})");
    next.complete(s.turn, "Done.");
    next.run_dry();
    CHECK(next.posted_texts == strings{"post Done.", "unreact m1 👀"});
    CHECK(next.keeps_nothing());
  }
  CHECK(s.box.waiting() == 0);
}
