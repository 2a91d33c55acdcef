// The state that a connector keeps over a restart, and its handling of edits and deletions.
#include "integrations/chat/follow_ups.hpp"
#include "integrations/chat/handled_marks.hpp"
#include "integrations/chat/notebook.hpp"
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

using strings = std::vector<std::string>;

const operation_id turn = operation_id::fresh(), call = operation_id::fresh();

outbox_rules with_buttons() {
  outbox_rules r;
  r.has_buttons = true;
  return r;
}

/// A quelld that answers on the test's command.
struct slow_host final : host {
  void say(incoming_message, std::function<void(result<decision>)>) override { FAIL("the connector says it"); }
  void approve(approval_order, std::function<void(result<void>)>) override { FAIL("nobody approves"); }
  void stop(stop_order order, std::function<void(result<stop_answer>)> done) override {
    stopped.push_back(order.reason);
    answers.push_back([done] { done(stop_answer{{}, "stopping", 1}); });
  }
  void stop_once(signed_stop once, std::function<void(result<stop_answer>)> done) override {
    stop(std::move(once.order), std::move(done));
  }
  void look(std::vector<operation_id>, std::function<void(std::vector<std::optional<status>>)> done) override {
    answers.push_back([this, done] { done({now}); });
  }
  void find(std::vector<scope_path>, std::string,
            std::function<void(result<std::optional<known_message>>)> done) override {
    answers.push_back([done] { done(std::optional<known_message>{}); });
  }
  void events_after(std::string, std::uint64_t, std::function<void(result<event_page>)>) override {
    FAIL("the connector reads them");
  }
  /// Answers until nothing is outstanding.
  void answer() {
    while (!answers.empty()) {
      const auto all = std::exchange(answers, {});
      for (const auto& one : all) one();
    }
  }
  std::optional<status> now = status::running;
  strings stopped;
  std::vector<std::function<void()>> answers;
};

struct chat_room {
  slow_host at;
  strings posted_texts, dropped;
  follow_ups all{{at, [] { return [](std::function<void()> job) { job(); }; },
                  [this](const operation_id& t) { dropped.push_back(t.text()); }, [](const std::string&) {},
                  [this](const quell::integrations::chat::incoming_message& m, const std::string& answers) {
                    posted_texts.push_back(m.text + " > " + answers);
                  }}};
  static quell::integrations::chat::incoming_message message(const std::string& text) {
    quell::integrations::chat::incoming_message m;
    m.scope = *scope_path::parse("slack/T/C");
    m.id = "1";
    m.text = text;
    m.author = {"mia", "Mia"};
    return m;
  }
  static result<decision> turned(const operation_id& id) {
    decision d;
    d.what = decided::turn;
    d.turn = id;
    return d;
  }
};

} // namespace

TEST_CASE("a reply under way that ended with its program is brought to its end in the next life", "[restart]") {
  played_service s(with_buttons());
  s.start(turn);
  s.delta(turn, 0, "Let me see");
  s.tell("tool_start", turn, R"({"name":"exec"})");
  s.run_dry();
  REQUIRE(s.messages.at("1") == "Let me see\n⏳ exec");
  next_life next(s);
  const auto which = next.box.recover(s.box.kept(), next.now);
  CHECK(which == std::vector<operation_id>{turn});
  next.box.looked(turn, std::nullopt, next.now);
  next.abort(turn, "interrupted"); // the event arrives after all: nothing is sent twice
  next.run_dry();
  CHECK(next.posted_texts == strings{"edit 1 Let me see\n⚠️ The reply ended early."});
  REQUIRE_FALSE(next.sent_actions.empty());
  CHECK_FALSE(next.sent_actions.back().is_live);
  CHECK(next.keeps_nothing());
}

TEST_CASE("a turn that goes on replaces its text in the message, also while an edit of it is under way", "[restart]") {
  for (const bool flies : {false, true}) {
    CAPTURE(flies);
    played_service s(with_buttons());
    s.start(turn);
    s.delta(turn, 0, "Schön. ");
    s.delta(turn, 7, "Half a wörd");
    s.run_dry();
    REQUIRE(s.messages.at("1") == "Schön. Half a wörd");
    next_life next(s);
    (void)next.box.recover(s.box.kept(), next.now);
    next.box.looked(turn, status::running, next.now);
    std::vector<action> under_way;
    if (flies) {
      next.delta(turn, 18, " and more");
      next.pass(milliseconds{60'000});
      under_way = next.box.due(next.now);
      REQUIRE(under_way.size() == 1);
      REQUIRE(under_way[0].what == action_kind::edit);
    }
    next.tell("turn_resumed", turn, R"({"offset":7})");
    for (const auto& a : under_way) next.box.done(a.number, next.perform(a), next.now);
    next.delta(turn, 7, "Another end.");
    next.complete(turn, "Schön. Another end.");
    next.run_dry();
    CHECK(next.messages.at("1") == "Schön. Another end.");
    CHECK(next.order.size() == 1);
  }
}

TEST_CASE("a turn that goes on behind text that was not delivered shows all of it at its end", "[restart]") {
  played_service s(with_buttons());
  s.start(turn);
  s.delta(turn, 0, "One.");
  s.run_dry();
  next_life next(s);
  (void)next.box.recover(s.box.kept(), next.now);
  next.box.looked(turn, status::running, next.now);
  next.tell("turn_resumed", turn, R"({"offset":9})"); // " Two." was stored just before the crash
  next.delta(turn, 9, " Three.");
  next.run_dry();
  CHECK(next.messages.at("1") == "One.");
  next.complete(turn, "One. Two. Three.");
  next.run_dry();
  CHECK(next.all() == "One. Two. Three.");
}

TEST_CASE("a question goes on in the next life, and the reply where it was", "[restart]") {
  played_service s(with_buttons());
  s.start(turn);
  s.delta(turn, 0, "May I? ");
  s.tell("approval_required", turn, R"({"operation":")" + call.text() + R"(","name":"exec","input":{}})");
  s.run_dry();
  next_life next(s);
  const auto which = next.box.recover(s.box.kept(), next.now);
  REQUIRE(which.size() == 2);
  next.box.looked(turn, status::running, next.now);
  next.box.looked(call, status::paused, next.now);
  next.run_dry();
  CHECK(next.posted_texts.empty());
  next.tell("approval_resolved", turn,
            R"({"operation":")" + call.text() + R"(","decision":"approved","by":{"id":"m","name":"Mia"}})");
  next.complete(turn, "May I? Thanks.");
  next.run_dry();
  CHECK(next.messages.at("2") == "✋ Waiting for approval: exec {}\n→ approved by Mia");
  CHECK(next.messages.at("3") == "Thanks.");
}

TEST_CASE("a question that was answered meanwhile loses its buttons, and nonsense is not a memory", "[restart]") {
  played_service s(with_buttons());
  s.tell("approval_required", turn, R"({"operation":")" + call.text() + R"(","name":"exec","input":{}})");
  s.run_dry();
  next_life next(s);
  next.box.recover(s.box.kept(), next.now);
  next.box.looked(call, status::running, next.now);
  next.run_dry();
  CHECK(next.messages.at("1") == "✋ Waiting for approval: exec {}\n→ no longer needed");
  for (const char* bad :
       {"", "x", "[]", "{\"parts\":1}", "{\"parts\":[1,{\"scope\":5},{\"scope\":\"a//b\"}],\"replies\":[{}]}"})
    CHECK(next.box.recover(bad, next.now).empty());
}

TEST_CASE("a reply that was complete and waited is sent by the next life, whole and once", "[restart]") {
  outbox_rules rules = with_buttons();
  rules.can_edit = GENERATE(true, false);
  rules.most_length = 64;
  played_service s(rules);
  std::string text;
  for (int i = 0; i < 20; ++i) text += "sentence " + std::to_string(i) + ". ";
  s.start(turn);
  s.complete(turn, text);
  const auto posted = GENERATE(0, 1, 2);
  for (int i = 0; i < posted; ++i) {
    const auto actions = s.only_due();
    s.box.done(actions.number, s.perform(actions), s.now);
    s.pass(milliseconds{5000});
  }
  next_life next(s);
  CHECK(next.box.recover(s.box.kept(), next.now) == std::vector<operation_id>{turn});
  next.box.looked(turn, std::nullopt, next.now);
  next.run_dry();
  CHECK(next.all() == text);
  CHECK(next.keeps_nothing());
}

TEST_CASE("what was being sent when its program died is not sent twice, and marked", "[restart]") {
  auto rules = with_buttons();
  rules.most_length = 64;
  rules.posts_repeat = GENERATE(true, false);
  const bool has_arrived = GENERATE(true, false);
  played_service s(rules);
  s.start(turn);
  s.complete(turn, std::string(60, 'a') + "\n" + std::string(60, 'b'));
  const auto actions = s.only_due();
  const auto kept = s.box.kept();
  if (has_arrived) s.perform(actions);
  next_life next(s);
  next.keys = s.keys;
  next.box.recover(kept, next.now);
  next.box.looked(turn, std::nullopt, next.now);
  next.run_dry();
  const auto a = std::string(60, 'a') + "\n", b = std::string(60, 'b');
  if (rules.posts_repeat)
    CHECK(next.all() == a + b);
  else
    CHECK(next.all() == (has_arrived ? a : "") + "[…]" + b);
}

TEST_CASE("an edit that was under way at a crash is replaced, also if the text is again as it was before",
          "[restart]") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "first");
  s.run_dry();
  s.tell("tool_start", turn, R"({"name":"exec"})");
  s.pass(milliseconds{2000});
  const auto edit = s.only_due();
  const bool is_complete_before = GENERATE(true, false);
  if (is_complete_before) s.complete(turn, "first");
  const auto kept = s.box.kept();
  s.perform(edit);
  REQUIRE(s.messages.at("1") == "first\n⏳ exec");
  next_life next(s);
  next.box.recover(kept, next.now);
  next.box.caught_up(next.events, true);
  if (!is_complete_before) next.complete(turn, "first");
  next.run_dry();
  CHECK(next.messages.at("1") == "first");
  CHECK(next.order.size() == 1);
  CHECK(next.keeps_nothing());
}

TEST_CASE("a reply that was cut by the end of its program says so, also where nothing stands yet", "[restart]") {
  outbox_rules rules;
  rules.can_edit = GENERATE(true, false);
  played_service s(rules);
  s.start(turn);
  s.delta(turn, 0, "Let me");
  next_life next(s);
  CHECK(next.box.recover(s.box.kept(), next.now) == std::vector<operation_id>{turn});
  next.box.looked(turn, std::nullopt, next.now);
  next.abort(turn, "interrupted");
  next.run_dry();
  CHECK(next.posted_texts == strings{"post ⚠️ The reply ended early."});
}

TEST_CASE("a stop that was to be told is told by the next life, once", "[restart]") {
  outbox_rules rules;
  rules.can_react = GENERATE(true, false);
  played_service s(rules);
  const auto stop = message_id::fresh();
  const auto cancel = cancel_id::fresh();
  s.box.on_decision(played_service::place(), played_service::taken(stop), "m7", s.now);
  s.tell("cancel_settled", turn,
         R"({"cancel":")" + cancel.text() + R"(","proven":true,"not_confirmed":0,"operations":1})");
  s.tell("acknowledgement", turn,
         R"({"message":")" + stop.text() + R"(","cancel":")" + cancel.text() + R"(","text":null,"reaction":"🛑"})");
  next_life next(s);
  CHECK(next.box.recover(s.box.kept(), next.now).empty());
  auto again = played_service::taken(stop); // the service repeats it
  again.is_acknowledged = again.is_duplicate = true;
  next.box.on_decision(played_service::place(), again, "m7", next.now);
  next.run_dry();
  CHECK(next.posted_texts == (rules.can_react ? strings{"react m7 🛑", "react m7 ✅"} : strings{"post 🛑 stopped"}));
}

TEST_CASE("who waits in line sees it, until it is their turn", "[outbox]") {
  outbox_rules rules;
  rules.can_react = GENERATE(true, false);
  played_service s(rules);
  auto d = played_service::taken(message_id::fresh());
  d.turn = turn;
  d.position = 2;
  s.box.on_decision(played_service::place(), d, "m7", s.now);
  if (const bool is_sent = GENERATE(true, false); is_sent) {
    s.run_dry();
    CHECK(s.posted_texts == strings{rules.can_react ? "react m7 👀" : "post In line, behind 2."});
  } else {
    s.start(turn);
    s.run_dry();
    CHECK(s.posted_texts.empty());
  }
}

TEST_CASE("a channel is heard up to the oldest message that is not decided", "[restart]") {
  handled_marks marks;
  marks.recall("c", "9");
  marks.comes("c", "10");
  marks.comes("c", "11");
  marks.done("c", "11");
  CHECK(marks.all().at("c") == "9");
  marks.comes("c", "12");
  marks.done("c", "10");
  CHECK(marks.all().at("c") == "10");
  marks.done("c", "12");
  CHECK(marks.all().at("c") == "12");
  marks.forget("c");
  CHECK(marks.all().empty());
}

TEST_CASE("notes are taken at each change while they are short, and else soon after it", "[restart]") {
  strings written;
  notebook notes(
      {[] { return std::string("before"); }, [&](const std::string& text) { return written.push_back(text), true; }});
  CHECK(notes.recall() == "before");
  const boot_time now{100'000'000'000};
  CHECK_FALSE(notes.keep(1, now, [] { return "one"; }));
  CHECK_FALSE(notes.keep(1, now, [] { return "no change"; }));
  CHECK_FALSE(notes.keep(2, now, [] { return "two"; }));
  CHECK(written == strings{"one", "two"});
  const std::string large(40'000, 'x');
  CHECK_FALSE(notes.keep(3, now, [&] { return large; }));
  CHECK(notes.keep(4, now + milliseconds{1}, [] { return "four"; }) == now + milliseconds{250});
  CHECK_FALSE(notes.keep(4, now + milliseconds{250}, [] { return "four"; }));
  CHECK_FALSE(notes.keep(5, now + milliseconds{600}, [] { return "four"; }));
  notes.close(6, now + milliseconds{601}, [] { return "last"; });
  CHECK(written == strings{"one", "two", large, "four", "last"});
  const std::string huge(1 << 20, 'x');
  CHECK_FALSE(notes.keep(7, now + milliseconds{900}, [&] { return huge; }));
  CHECK(notes.keep(8, now + milliseconds{901}, [] { return "next"; }) == now + milliseconds{900 + 2048});
}

TEST_CASE("notes that cannot be stored are not told as stored, and are written again", "[restart]") {
  strings tried;
  bool is_full = true;
  notebook notes(
      {[] { return std::string(); }, [&](const std::string& text) { return tried.push_back(text), !is_full; }});
  const boot_time now{100'000'000'000};
  CHECK(notes.is_stored());
  CHECK_FALSE(notes.keep(1, now, [] { return "one"; }));
  CHECK_FALSE(notes.is_stored());
  is_full = false;
  CHECK_FALSE(notes.keep(2, now, [] { return "one"; }));
  CHECK(notes.is_stored());
  CHECK(tried == strings{"one", "one"});
  CHECK(notebook({}).is_stored());
}

TEST_CASE("an edit stops the turn of its message and says the other words, each edit once", "[edits]") {
  chat_room room;
  CHECK(room.all.message_posted("k", chat_room::message("old")));
  CHECK_FALSE(room.all.message_posted("k", chat_room::message("old")));
  room.all.edited("k", chat_room::message("new"), "e1", false); // before the first message is decided
  room.at.answer();
  CHECK(room.at.stopped.empty());
  room.all.decided("k", chat_room::turned(turn));
  room.at.answer();
  CHECK(room.at.stopped == strings{"its message was edited"});
  CHECK(room.dropped == strings{turn.text()});
  CHECK(room.posted_texts == strings{"new > 1"});
  room.all.edited("k", chat_room::message("new"), "e1", false); // a repeat
  room.all.edited("k", chat_room::message("newer"), "e2", false);
  room.at.answer();
  CHECK(room.posted_texts.size() == 1); // it waits for the decision about the earlier edit
  room.all.decided("k/e1", chat_room::turned(call));
  room.at.answer();
  CHECK(room.posted_texts == strings{"new > 1", "newer > 1"});
  CHECK(room.dropped == strings{turn.text(), call.text()});
}

TEST_CASE("what has ended stays, but for a word to stop; and a deletion stops what runs", "[edits]") {
  chat_room room;
  room.all.message_posted("k", chat_room::message("old"));
  room.all.decided("k", chat_room::turned(turn));
  room.at.now = status::completed;
  room.all.edited("k", chat_room::message("new"), "e1", false);
  room.all.deleted("k", {}, "k");
  room.all.deleted("unknown", {}, "unknown");
  room.at.answer();
  CHECK(room.at.stopped.empty());
  CHECK(room.posted_texts.empty());
  room.all.edited("k", chat_room::message("stop"), "e2", true);
  room.all.edited("k", chat_room::message("stop"), "e2", true);
  CHECK(room.posted_texts == strings{"stop > 1"});
  room.at.now = status::pending;
  room.all.deleted("k", {}, "k");
  room.at.answer();
  CHECK(room.at.stopped == strings{"its message was deleted"});
}
