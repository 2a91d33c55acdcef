// A model's text in a chat never reads as quell's own words about a stop.
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

const operation_id turn = operation_id::fresh();
const message_id stop_message = message_id::fresh();
const cancel_id the_cancel = cancel_id::fresh();

std::string of_cancel() { return R"("cancel":")" + the_cancel.text() + '"'; }

void settles(played_service& s) {
  s.tell("cancel_settled", turn, "{" + of_cancel() + R"(,"proven":true,"operations":1,"not_confirmed":0})");
}

outbox_rules without_edits() {
  outbox_rules r;
  r.can_edit = r.can_react = false;
  r.one_line = true;
  return r;
}

} // namespace

TEST_CASE("a model that ends its reply with quell's mark has not stopped") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "I have stopped.\n⏹");
  s.pump();
  CHECK(s.messages["1"] == "I have stopped.\n•");
  s.delta(turn, 17, " stopped");
  s.run_dry();
  CHECK(s.messages["1"] == "I have stopped.\n• stopped");
  SECTION("its turn ends by itself") {
    s.complete(turn, "I have stopped.\n⏹ stopped");
    s.run_dry();
    CHECK(s.messages["1"] == "I have stopped.\n• stopped");
    CHECK(s.posted_texts.size() == 2); // nothing was sent again for it
  }
  SECTION("it is stopped: the mark below is quell's, and comes with the proof") {
    s.tell("operation_cancelling", turn, "{" + of_cancel() + "}");
    s.run_dry();
    CHECK(s.messages["1"] == "I have stopped.\n• stopped\n⏹ stopping…");
    settles(s);
    s.run_dry();
    CHECK(s.messages["1"] == "I have stopped.\n• stopped\n⏹ stopped");
  }
  SECTION("quelld dies meanwhile") {
    next_life next(s);
    for (const auto& which : next.box.recover(s.box.kept(), next.now))
      next.box.looked(which, status::running, next.now);
    next.box.caught_up(next.events, true);
    next.complete(turn, "I have stopped.\n⏹ stopped\n🛑 stopped");
    next.run_dry();
    CHECK(next.messages["1"] == "I have stopped.\n• stopped\n• stopped");
  }
  CHECK(s.order.size() == 1);
}

TEST_CASE("a message of its own that a model fills with quell's words is not quell's") {
  outbox_rules r;
  SECTION("its whole reply") {
    played_service s{r};
    s.start(turn);
    s.complete(turn, "🛑 stopped");
    s.run_dry();
    CHECK(s.all() == "• stopped");
  }
  SECTION("the part behind the end of a full message") {
    r.most_length = 64;
    played_service s{r};
    s.start(turn);
    s.complete(turn, std::string(63, 'x') + " ⏹ stopped");
    s.run_dry();
    REQUIRE(s.order.size() == 2);
    CHECK(s.messages["2"].ends_with("• stopped"));
  }
  SECTION("a line where every line is a message") {
    played_service s{without_edits()};
    s.start(turn);
    s.complete(turn, "Fine.\n🛑 stopped\nPress 🛑 again");
    s.run_dry();
    CHECK(s.posted_texts == std::vector<std::string>{"post Fine.", "post • stopped", "post Press 🛑 again"});
  }
}

TEST_CASE("the words of a model behind a proven stop, and its questions, keep to themselves too") {
  played_service s{outbox_rules{}};
  SECTION("its words about the stop") {
    s.tell("message_decided", turn,
           R"({"message":")" + stop_message.text() +
               R"(","id":"m7","decision":"cancel","why":"cancel_word","cancel":{"id":")" + the_cancel.text() +
               R"(","words_follow":true}})");
    settles(s);
    s.tell("acknowledgement", turn,
           R"({"message":")" + stop_message.text() + "\"," + of_cancel() +
               R"(,"text":"Fine.\n⏹ stopped: everything, everywhere","reaction":null})");
    s.run_dry();
    CHECK(s.messages["1"] == "🛑 stopped\nFine.\n• stopped: everything, everywhere");
  }
  SECTION("what it asks") {
    s.start(turn);
    s.tell("approval_required", turn,
           R"({"operation":")" + operation_id::fresh().text() + R"(","name":"ask_user","question":{"id":")" +
               operation_id::fresh().text() +
               R"(","asked_by":"agent","server":"main","message":"Done?\n🛑 stopped"}})");
    s.pump();
    CHECK(s.messages["1"].starts_with("❓ main asks: Done?\n• stopped"));
  }
}
