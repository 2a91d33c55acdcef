// The send queue of a connector when a service is slow, down, or unsure, and when there is too much to send.
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

using strings = std::vector<std::string>;

const operation_id turn = operation_id::fresh(), other = operation_id::fresh();
const message_id hello_message = message_id::fresh();

outbox_rules lines() {
  outbox_rules r;
  r.unit = length_unit::bytes;
  r.most_length = 400;
  r.can_edit = r.can_react = false;
  r.one_line = true;
  r.of_place = {milliseconds{2000}, 4};
  return r;
}

} // namespace

TEST_CASE("no place has two actions in flight, and places do not wait for each other") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.complete(turn, std::string(9000, 'x'));
  s.tell("turn_complete", other, R"({"text":"there"})", played_service::place("slack/T1/C2"));
  const auto first = s.box.due(s.now);
  REQUIRE(first.size() == 2);
  CHECK(first[0].place.text() != first[1].place.text());
  CHECK(s.box.due(s.now).empty());
  CHECK(s.box.in_flight() == 2);
}

TEST_CASE("when the service says later, the place waits exactly so long, and all places where it says so") {
  played_service s{outbox_rules{}};
  s.tell("turn_complete", turn, R"({"text":"here"})");
  s.tell("turn_complete", other, R"({"text":"there"})", played_service::place("slack/T1/C2"));
  auto a = s.box.due(s.now, 1);
  REQUIRE(a.size() == 1);
  const bool everything = GENERATE(true, false);
  s.box.done(a[0].number, {outcome::later, {}, milliseconds{7000}, everything}, s.now);
  CHECK(s.box.due(s.now).size() == (everything ? 0 : 1));
  CHECK(s.box.next_at(s.now) == s.now + milliseconds{7000});
}

TEST_CASE("a service that is down is tried again, less and less often, and nothing is lost or doubled") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.complete(turn, "hello");
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 8; ++i) {
    const auto a = s.box.due(s.now);
    REQUIRE(a.size() == 1);
    s.box.done(a[0].number, {outcome::not_sent}, s.now);
    const auto next = s.box.next_at(s.now);
    REQUIRE(next);
    waits.push_back(std::chrono::duration_cast<milliseconds>(*next - s.now).count());
    s.now = *next;
  }
  CHECK(waits == std::vector<std::int64_t>{1000, 2000, 4000, 8000, 16'000, 32'000, 60'000, 60'000});
  s.pump();
  CHECK(s.posted_texts == strings{"post hello"});
}

TEST_CASE("what a service does not take for a quarter of an hour is dropped") {
  played_service s{outbox_rules{}};
  s.complete(turn, "hello");
  for (int i = 0; i < 100; ++i) {
    const auto a = s.box.due(s.now);
    if (a.empty()) break;
    s.box.done(a[0].number, {outcome::not_sent}, s.now);
    if (const auto next = s.box.next_at(s.now)) s.now = *next;
  }
  CHECK(s.box.dropped() == 1);
  CHECK_FALSE(s.box.next_at(s.now));
}

TEST_CASE("a post whose fate is unknown is never sent twice; what follows it comes in a new message") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "first");
  auto a = s.box.due(s.now);
  REQUIRE(a.size() == 1);
  s.perform(a[0]);
  s.box.lost(s.now);
  s.delta(turn, 5, " second");
  s.complete(turn, "first second");
  s.run_dry();
  CHECK(s.posted_texts == strings{"post first", "post  second"});
}

TEST_CASE("where a post that comes twice is done once, one of which nobody knows is made again as it was") {
  outbox_rules rules;
  rules.posts_repeat = true;
  played_service s{rules};
  s.start(turn);
  s.delta(turn, 0, "first");
  const bool has_arrived = GENERATE(true, false);
  std::uint64_t key = 0;
  const auto until = s.now + milliseconds{14 * 60'000};
  for (int tries = 0; s.now < until; ++tries) {
    const auto a = s.box.due(s.now);
    REQUIRE(a.size() == 1);
    CHECK(a[0].what == action_kind::post);
    CHECK(a[0].text == "first");
    if (tries == 0) key = a[0].key;
    CHECK(a[0].key == key);
    if (has_arrived && tries == 0) s.perform(a[0]);
    // An attempt that certainly failed tells nothing about the attempt before it.
    s.box.done(a[0].number, {tries % 2 == 0 ? outcome::unknown : outcome::not_sent}, s.now);
    if (tries == 0) s.complete(turn, "first second");
    REQUIRE(s.box.next_at(s.now));
    s.now = *s.box.next_at(s.now);
  }
  s.run_dry();
  CHECK(s.order.size() == 1);
  CHECK(s.messages["1"] == "first second");
  CHECK(s.box.dropped() == 0);
}

TEST_CASE("what comes long after the service went away is tried as long as what came first") {
  played_service s{outbox_rules{}};
  s.complete(turn, "old");
  for (int i = 0; i < 15; ++i) {
    for (const auto& a : s.box.due(s.now)) s.box.done(a.number, {outcome::not_sent}, s.now);
    if (const auto next = s.box.next_at(s.now)) s.now = *next;
  }
  s.complete(other, "new");
  while (s.box.dropped() == 0) {
    for (const auto& a : s.box.due(s.now)) s.box.done(a.number, {outcome::not_sent}, s.now);
    REQUIRE(s.box.next_at(s.now));
    s.now = *s.box.next_at(s.now);
  }
  for (const auto& a : s.box.due(s.now)) s.box.done(a.number, {outcome::not_sent}, s.now);
  CHECK(s.box.dropped() == 1);
  s.run_dry();
  CHECK(s.posted_texts == strings{"post new"});
}

TEST_CASE("an edit whose fate is unknown is made again") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "first");
  s.pump();
  s.complete(turn, "first second");
  auto a = s.box.due(s.now);
  REQUIRE(a.size() == 1);
  REQUIRE(a[0].what == action_kind::edit);
  s.box.lost(s.now);
  s.run_dry();
  CHECK(s.messages["1"] == "first second");
  CHECK(s.order.size() == 1);
}

TEST_CASE("an edit whose fate is unknown is replaced, also if the text is again as it was before") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "first");
  s.run_dry();
  s.tell("tool_start", turn, R"({"name":"exec"})");
  s.pass(milliseconds{2000});
  const auto edit = s.only_due();
  REQUIRE(edit.text == "first\n⏳ exec");
  s.perform(edit);
  s.box.lost(s.now);
  s.tell("tool_result", turn, R"({"name":"exec"})");
  s.complete(turn, "first");
  s.run_dry();
  CHECK(s.messages["1"] == "first");
  CHECK(s.order.size() == 1);
}

TEST_CASE("a message that cannot be edited any more is left, and the rest comes in a new one") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "first");
  s.pump();
  s.complete(turn, "first second");
  auto a = s.box.due(s.now);
  REQUIRE(a.size() == 1);
  s.box.done(a[0].number, {outcome::refused}, s.now);
  s.run_dry();
  CHECK(s.posted_texts == strings{"post first", "post  second"});
}

TEST_CASE("too much that waits in one place loses its oldest parts, and says so once") {
  auto rules = lines();
  rules.most_parts = 10;
  played_service s{rules};
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::to_string(i) + "\n";
  s.complete(turn, text);
  s.run_dry();
  REQUIRE(s.posted_texts.size() <= 11);
  CHECK(s.posted_texts.front() == "post […]");
  CHECK(s.posted_texts.back() == "post 39");
  CHECK(s.box.dropped() >= 30);
}

TEST_CASE("replies in more places than are remembered all arrive") {
  outbox_rules rules;
  rules.most_places = 100;
  const bool says_at_once = GENERATE(true, false);
  played_service s{rules};
  const auto place = [](int i) { return played_service::place("slack/T1/C" + std::to_string(i)); };
  std::vector<operation_id> turns;
  for (int i = 0; i < 250; ++i) turns.push_back(operation_id::fresh());
  for (int i = 0; i < 250; ++i) {
    s.tell("turn_start", turns[static_cast<std::size_t>(i)], R"({"message":""})", place(i));
    if (says_at_once) s.tell("text_delta", turns[static_cast<std::size_t>(i)], R"({"offset":0,"text":"a"})", place(i));
  }
  for (int i = 0; i < 250; ++i)
    s.tell("turn_complete", turns[static_cast<std::size_t>(i)], R"({"text":"ab"})", place(i));
  s.run_dry();
  CHECK(s.order.size() == 250);
  CHECK(s.box.dropped() == 0);
  CHECK(std::all_of(s.messages.begin(), s.messages.end(), [](const auto& m) { return m.second == "ab"; }));
}

TEST_CASE("what is left out is said, but not each time") {
  outbox_rules rules;
  rules.most_places = rules.most_busy_places = 3;
  strings posted_texts;
  rules.report = [&](const std::string& what) { posted_texts.push_back(what); };
  played_service s{rules};
  for (int i = 0; i < 6; ++i) {
    s.pass(milliseconds{1});
    s.tell("turn_complete", operation_id::fresh(), R"({"text":"waits"})",
           played_service::place("slack/a" + std::to_string(i)));
  }
  CHECK(s.box.dropped() == 3);
  REQUIRE(posted_texts.size() == 1);
  CHECK(posted_texts[0].find("1 message was not sent, the last one to slack/a0: too many places") == 0);
  s.pass(milliseconds{11'000});
  s.tell("turn_complete", operation_id::fresh(), R"({"text":"waits"})", played_service::place("slack/b"));
  REQUIRE(posted_texts.size() == 2);
  CHECK(posted_texts[1].find("3 messages were not sent, the last one to slack/a3") == 0);
}

TEST_CASE("no more places are kept than allowed; those without anything to say go first") {
  outbox_rules rules;
  rules.most_places = 3;
  played_service s{rules};
  s.tell("turn_complete", turn, R"({"text":"waits"})", played_service::place("slack/a"));
  for (int i = 0; i < 20; ++i) {
    s.pass(milliseconds{1});
    s.box.on_decision(played_service::place("slack/b" + std::to_string(i)), played_service::taken(hello_message), "x",
                      s.now);
  }
  CHECK(s.box.places() == 3);
  s.run_dry();
  CHECK(s.posted_texts == strings{"post waits"});
}
