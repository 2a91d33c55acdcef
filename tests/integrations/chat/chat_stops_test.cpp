// The texts of a stop in a chat: "stopping" at the fence, "stopped" with the proof, and never the other way round.
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

using strings = std::vector<std::string>;

const operation_id turn = operation_id::fresh();
const message_id stop_message = message_id::fresh(), repeated_message = message_id::fresh();
const cancel_id the_cancel = cancel_id::fresh(), another = cancel_id::fresh();

/// A service, and a stop that runs its course in it.
struct stop_world : played_service {
  using played_service::played_service;

  void tells(const std::string& type, const std::string& data, const std::optional<operation_id>& of = {}) {
    event e;
    e.id = ++events;
    e.type = event_type_of(type).value();
    e.scope = place();
    e.operation = of;
    e.root = of;
    e.data = data;
    box.on_event(e, now);
  }
  static std::string of(const cancel_id& cancel) { return R"("cancel":")" + cancel.text() + '"'; }
  void decides(const message_id& m = stop_message, const std::string& id = "m7", bool words_follow = true) {
    tells("message_decided", R"({"message":")" + m.text() + R"(","id":")" + id +
                                 R"(","decision":"cancel","why":"cancel_word","cancel":{"id":")" + the_cancel.text() +
                                 (words_follow ? R"(","words_follow":true}})" : R"("}})"));
  }
  void acknowledges(const std::string& text, const std::string& state = "", const message_id& m = stop_message) {
    tells("acknowledgement", R"({"message":")" + m.text() + R"(","cancel":")" + the_cancel.text() + R"(","text":)" +
                                 quoted(text) + R"(,"reaction":null)" +
                                 (state.empty() ? "" : R"(,"state":")" + state + '"') + "}");
  }
  void reacts(const message_id& m = stop_message) {
    tells("acknowledgement",
          R"({"message":")" + m.text() + R"(","cancel":")" + the_cancel.text() + R"(","text":null,"reaction":"🛑"})");
  }
  void settles(bool is_proven = true, const cancel_id& cancel = the_cancel) {
    tells("cancel_settled", "{" + of(cancel) +
                                (is_proven ? R"(,"proven":true,"operations":3,"not_confirmed":0})"
                                           : R"(,"proven":false,"operations":3,"not_confirmed":1})"));
  }
};

/// The next life of its program; the service knows its messages.
struct next_stop_life : stop_world {
  explicit next_stop_life(const stop_world& before) : stop_world(before.rules) {
    order = before.order;
    messages = before.messages;
    now = before.now;
    events = before.events;
  }
};

outbox_rules lines() {
  outbox_rules r;
  r.can_edit = r.can_react = false;
  r.one_line = true;
  return r;
}

} // namespace

TEST_CASE("at the fence a message says stopping, and the same one says stopped once that is proven") {
  stop_world s{outbox_rules{}};
  s.decides();
  s.pump();
  CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
  SECTION("the words come after the proof") {
    s.settles();
    s.pump();
    CHECK(s.messages["1"] == "🛑 stopped");
    s.acknowledges("I have stopped.");
    s.run_dry();
    CHECK(s.messages["1"] == "🛑 stopped\nI have stopped.");
  }
  SECTION("the proof is not there for a long time") {
    s.acknowledges("🛑 stopping…", "stopping");
    s.acknowledges("⚠️ still stopping, not proven: exec", "unproven");
    s.run_dry();
    CHECK(s.messages["1"] == "⚠️ still stopping, not proven: exec");
    s.settles();
    s.acknowledges("🛑 stopped", "stopped");
    s.run_dry();
    CHECK(s.messages["1"] == "🛑 stopped");
  }
  SECTION("it never comes") {
    s.settles(false);
    s.acknowledges("⚠️ not known to have ended: exec", "unconfirmed");
    s.run_dry();
    CHECK(s.messages["1"] == "⚠️ not known to have ended: exec");
    s.acknowledges("I have stopped."); // a late event
    s.run_dry();
    CHECK(s.messages["1"] == "⚠️ not known to have ended: exec");
  }
  SECTION("another cancel settles") {
    s.settles(true, another);
    s.run_dry();
    CHECK(s.messages["1"] == "🛑 stopping…");
  }
  CHECK(s.order.size() == 1);
}

TEST_CASE("a model that has no words leaves quell's own") {
  stop_world s{outbox_rules{}};
  s.decides();
  s.pump();
  s.reacts();
  s.run_dry();
  CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
  s.settles();
  s.run_dry();
  CHECK(s.messages["1"] == "🛑 stopped");
}

TEST_CASE("without edits the end is told in a second message, and a stop that is proven at once in one") {
  stop_world s{lines()};
  s.decides();
  s.pump();
  CHECK(s.posted_texts.empty());
  SECTION("at once") {
    s.settles();
    s.run_dry();
    CHECK(s.posted_texts.empty());
    s.acknowledges("I have stopped.");
    s.run_dry();
    CHECK(s.posted_texts == strings{"post 🛑 stopped I have stopped."});
  }
  SECTION("later") {
    s.pass(milliseconds{1000});
    s.pump();
    CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
    s.acknowledges("🛑 stopping…", "stopping");
    s.run_dry();
    CHECK(s.posted_texts.size() == 2); // quelld sent this: more follows
    s.settles();
    s.acknowledges("I have stopped.");
    s.run_dry();
    CHECK(s.posted_texts.back() == "post 🛑 stopped I have stopped.");
    CHECK(s.posted_texts.size() == 3);
  }
  SECTION("later, without words") {
    s.pass(milliseconds{1000});
    s.pump();
    s.reacts();
    s.settles();
    s.run_dry();
    CHECK(s.posted_texts == strings{"post 🛑 stopping…", "post 🛑 stopped"});
  }
  SECTION("the end comes while the first one is on its way") {
    s.pass(milliseconds{1000});
    const auto a = s.box.due(s.now);
    REQUIRE(a.size() == 1);
    s.settles();
    s.acknowledges("Fine.");
    s.box.done(a[0].number, s.perform(a[0]), s.now);
    s.run_dry();
    CHECK(s.posted_texts == strings{"post 🛑 stopping…", "post 🛑 stopped Fine."});
  }
}

TEST_CASE("a reaction is followed by another one with the proof, and by words without it") {
  stop_world s{outbox_rules{}};
  s.decides(stop_message, "m7", false);
  s.reacts();
  s.run_dry();
  CHECK(s.posted_texts == strings{"react m7 🛑"});
  SECTION("proven") {
    s.settles();
    s.run_dry();
    CHECK(s.posted_texts == strings{"react m7 🛑", "react m7 ✅"});
  }
  SECTION("not") {
    s.settles(false);
    s.run_dry();
    CHECK(s.posted_texts.size() == 1);
    s.acknowledges("⚠️ not known to have ended: exec", "unconfirmed");
    s.run_dry();
    CHECK(s.posted_texts.back() == "post ⚠️ not known to have ended: exec");
    CHECK(s.sent_actions.back().reply_to == "m7");
  }
}

TEST_CASE("the mark below a reply follows the cancel that ended it, whichever is told first") {
  stop_world s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "Some words");
  s.pump();
  SECTION("a word") {
    s.decides(stop_message, "m7", false);
    s.run_dry();
    CHECK(s.messages["1"] == "Some words\n⏹ stopping…");
    s.abort(turn);
    s.settles();
  }
  SECTION("a cancel that settles before anything else is told") {
    s.settles();
    s.tells("operation_cancelling", "{" + s.of(the_cancel) + "}", turn);
  }
  SECTION("a button, which knows no cancel yet") {
    s.box.drop(turn, s.now);
    s.run_dry();
    CHECK(s.messages["1"] == "Some words\n⏹ stopping…");
    s.abort(turn);
    s.tells("operation_cancelled", "{" + s.of(the_cancel) + "}", turn);
    s.settles();
  }
  s.run_dry();
  CHECK(s.messages["1"] == "Some words\n⏹ stopped");
  CHECK(s.box.waiting() == 0);
}

TEST_CASE("the mark does not say stopped without a proof") {
  stop_world s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "Some words");
  s.pump();
  SECTION("not all is known to have ended") {
    s.tells("operation_cancelling", "{" + s.of(the_cancel) + "}", turn);
    s.settles(false);
    s.run_dry();
    CHECK(s.messages["1"] == "Some words\n⚠️ not known to have ended: 1 of 3");
  }
  SECTION("something other than a cancel ended it") {
    s.abort(turn, "superseded");
    s.run_dry();
    CHECK(s.messages["1"] == "Some words\n⏹ cut off");
  }
  SECTION("the button came too late") {
    s.box.drop(turn, s.now);
    s.tells("operation_completed", "{}", turn);
    s.run_dry();
    CHECK(s.messages["1"] == "Some words\n⏹ cut off");
  }
}

TEST_CASE("an end without proof that is known before the stop is told is told as it is") {
  outbox_rules r;
  r.can_react = false;
  stop_world s{r};
  s.settles(false);
  s.reacts();
  s.run_dry();
  CHECK(s.messages["1"] == "⚠️ not known to have ended: 1 of 3");
  CHECK(s.posted_texts.size() == 1);
}

TEST_CASE("the mark of a stop waits for no pace") {
  outbox_rules r;
  r.of_place = {milliseconds{60'000}, 1};
  r.of_all = {milliseconds{60'000}, 1};
  stop_world s{r};
  s.start(turn);
  s.delta(turn, 0, "Some words");
  s.pump(); // the only free request
  s.decides(stop_message, "m7", false);
  s.pump();
  CHECK(s.posted_texts.back() == "edit 1 Some words\n⏹ stopping…");
  s.settles();
  s.pump();
  CHECK(s.posted_texts.back() == "edit 1 Some words\n⏹ stopped");
}

TEST_CASE("a command is told as a word is, and a message that was never decided here too") {
  stop_world s{outbox_rules{}};
  SECTION("a command") {
    s.box.stopping(played_service::place(), the_cancel, s.now);
    s.pump();
    CHECK(s.messages["1"] == "🛑 stopping…");
    s.settles();
  }
  SECTION("a command whose cancel has settled") {
    s.settles();
    s.box.stopping(played_service::place(), the_cancel, s.now);
  }
  SECTION("the end of what an earlier life had begun to tell") { s.acknowledges("🛑 stopped", "stopped"); }
  s.run_dry();
  CHECK(s.messages["1"] == "🛑 stopped");
}

TEST_CASE("a place forgets stops that never end, but not what they say") {
  stop_world s{outbox_rules{}};
  for (int i = 0; i < 100; ++i) s.decides(message_id::fresh(), "m" + std::to_string(i));
  s.run_dry();
  CHECK(s.order.size() == 100);
  s.settles();
  s.run_dry();
  CHECK(s.box.waiting() == 0);
  CHECK(s.messages["100"] == "🛑 stopped");
}

TEST_CASE("a reply that says stopping goes on to in the next life, and a restart proves nothing", "[restart]") {
  stop_world s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "Some words");
  s.pump();
  s.decides(stop_message, "m7", false);
  s.run_dry();
  REQUIRE(s.messages["1"] == "Some words\n⏹ stopping…");
  next_stop_life next{s};
  REQUIRE(next.box.recover(s.box.kept(), next.now) == std::vector<operation_id>{turn});
  SECTION("it still ends") {
    next.box.looked(turn, status::cancelling, next.now);
    next.delta(turn, 10, " and more"); // a late event: the life before had accepted its stop
    next.run_dry();
    CHECK(next.posted_texts.empty());
  }
  SECTION("it ended while nobody heard of a proof") {
    next.box.looked(turn, std::nullopt, next.now);
    next.run_dry();
    CHECK(next.messages["1"] == "Some words\n⏹ cut off");
    CHECK(next.keeps_nothing());
  }
  next.settles();
  next.run_dry();
  CHECK(next.messages["1"] == "Some words\n⏹ stopped");
  CHECK(next.order.size() == 1);
}

TEST_CASE("the next life tells the end of a stop where its beginning stands", "[restart]") {
  stop_world s{outbox_rules{}};
  SECTION("in a message") {
    s.decides();
    s.pump();
    REQUIRE(s.messages["1"] == "🛑 stopping…");
    next_stop_life next{s};
    CHECK(next.box.recover(s.box.kept(), next.now).empty());
    CHECK_FALSE(next.keeps_nothing()); // a later life goes on with it, too
    next.run_dry();
    CHECK(next.posted_texts.empty());
    SECTION("with the proof") {
      next.settles();
      next.run_dry();
      CHECK(next.messages["1"] == "🛑 stopped");
    }
    next.acknowledges("🛑 stopped", "stopped");
    next.run_dry();
    CHECK(next.messages["1"] == "🛑 stopped");
    CHECK(next.order.size() == 1);
  }
  SECTION("with a reaction") {
    s.decides(stop_message, "m7", false);
    s.reacts();
    s.run_dry();
    next_stop_life next{s};
    next.box.recover(s.box.kept(), next.now);
    next.settles();
    next.run_dry();
    CHECK(next.posted_texts == strings{"react m7 ✅"});
  }
  SECTION("in words, if nobody knows whether its beginning has arrived") {
    s.decides();
    REQUIRE(s.box.due(s.now).size() == 1);
    next_stop_life next{s};
    next.box.recover(s.box.kept(), next.now);
    next.reacts();
    next.run_dry();
    CHECK(next.posted_texts.empty());
    next.settles();
    next.run_dry();
    CHECK(next.posted_texts == strings{"post 🛑 stopped"});
  }
}

TEST_CASE("where nobody can speak any more no end of a stop is told") {
  stop_world s{outbox_rules{}};
  s.decides();
  s.pump();
  CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
  s.box.forget(played_service::place(), s.now);
  s.settles();
  s.acknowledges("I have stopped.");
  s.run_dry();
  CHECK(s.posted_texts.size() == 1);
}
