// The send queue of a connector: the requests to a service, their order, and the text that a stop leaves unsent.
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

using strings = std::vector<std::string>;

const operation_id turn = operation_id::fresh(), other = operation_id::fresh();
const message_id stop_message = message_id::fresh(), hello_message = message_id::fresh();

std::string decision_of(const message_id& m, const std::string& id, const std::string& decision,
                        const std::string& why) {
  return R"({"message":")" + m.text() + R"(","id":")" + id + R"(","decision":")" + decision + R"(","why":")" + why +
         R"("})";
}
std::string acknowledged(const message_id& m, const std::string& text, const std::string& reaction) {
  return R"({"message":")" + m.text() + R"(","cancel":null,"text":)" + (text.empty() ? "null" : '"' + text + '"') +
         R"(,"reaction":)" + (reaction.empty() ? "null" : '"' + reaction + '"') + "}";
}

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

TEST_CASE("a tool's line does not stay when its reply ends early") {
  played_service s{outbox_rules{}};
  const auto turn = operation_id::fresh();
  s.start(turn);
  s.tell("tool_start", turn, R"({"name":"exec"})");
  s.run_dry();
  s.abort(turn, "timeout");
  s.run_dry();
  CHECK(s.messages.at("1") == "⏹ cut off");
  CHECK(s.messages.at("2") == "⚠️ The reply ended early: it took too long.");
}

TEST_CASE("a reply is posted with its first words and grows by edits, no more often than the service likes") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "One");
  s.pump();
  s.delta(turn, 3, " two");
  s.pump();
  CHECK(s.posted_texts == strings{"post One"});
  s.delta(turn, 7, " three");
  s.pass(milliseconds{1000});
  s.pump();
  CHECK(s.posted_texts == strings{"post One", "edit 1 One two three"});
  s.complete(turn, "One two three four");
  s.pump();
  CHECK(s.posted_texts.back() == "edit 1 One two three four");
  CHECK_FALSE(s.box.next_at(s.now));
  CHECK(s.box.waiting() == 0);
}

TEST_CASE("a reply answers the message that it is of, and only its first part does") {
  outbox_rules r;
  r.most_length = 64;
  played_service s{r};
  s.tell("message_decided", turn, decision_of(hello_message, "1700.01", "turn", "no_cancel_word"));
  s.start(turn, hello_message.text());
  s.complete(turn, std::string(100, 'a'));
  s.run_dry();
  REQUIRE(s.sent_actions.size() == 2);
  CHECK(s.sent_actions[0].reply_to == "1700.01");
  CHECK(s.sent_actions[1].reply_to.empty());
}

TEST_CASE("a stop drops what was not sent, and the acknowledgement goes first") {
  played_service s{lines()};
  s.start(turn);
  std::string text;
  for (int i = 0; i < 20; ++i) text += "line " + std::to_string(i) + "\n";
  s.complete(turn, text);
  s.pump();
  CHECK(s.posted_texts.size() == 4); // the burst
  s.tell("message_decided", turn, decision_of(stop_message, "m2", "cancel", "cancel_word"));
  s.tell("acknowledgement", turn, acknowledged(stop_message, "Stopped the list.", ""));
  s.pump();
  CHECK(s.posted_texts.size() == 5);
  CHECK(s.posted_texts.back() == "post 🛑 stopped Stopped the list.");
  s.run_dry();
  CHECK(s.posted_texts.size() == 5);
}

TEST_CASE("a word to stop that finds nothing active still ends what is only waiting to be sent") {
  played_service s{lines()};
  s.start(turn);
  s.complete(turn, "a\nb\nc\nd\ne\nf\n");
  s.pump();
  s.tell("message_decided", other, decision_of(stop_message, "m2", "turn", "nothing_active"));
  s.run_dry();
  CHECK(s.posted_texts.size() == 4);
}

TEST_CASE("an acknowledgement without a text is a reaction on the message that said stop") {
  played_service s{outbox_rules{}};
  s.tell("message_decided", turn, decision_of(stop_message, "m7", "cancel", "cancel_word"));
  s.tell("acknowledgement", turn, acknowledged(stop_message, "", "🛑"));
  s.pump();
  CHECK(s.posted_texts == strings{"react m7 🛑"});
}

TEST_CASE("where a reaction cannot be, a short text is") {
  SECTION("the service has none") {
    played_service s{lines()};
    s.tell("message_decided", turn, decision_of(stop_message, "m7", "cancel", "cancel_word"));
    s.tell("acknowledgement", turn, acknowledged(stop_message, "", "🛑"));
    s.pump();
    CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
  }
  SECTION("the message is not known any more") {
    played_service s{outbox_rules{}};
    s.tell("acknowledgement", turn, acknowledged(stop_message, "", "🛑"));
    s.pump();
    CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
  }
  SECTION("the service refuses it") {
    played_service s{outbox_rules{}};
    s.box.on_decision(played_service::place(), played_service::taken(stop_message), "m7", s.now);
    s.tell("acknowledgement", turn, acknowledged(stop_message, "", "🛑"));
    auto a = s.box.due(s.now);
    REQUIRE(a.size() == 1);
    s.box.done(a[0].number, {GENERATE(outcome::refused, outcome::unknown)}, s.now);
    s.pump();
    CHECK(s.posted_texts == strings{"post 🛑 stopping…"});
  }
}

TEST_CASE("a repeated stop whose acknowledgement was told in an earlier life gets a reaction, once") {
  played_service s{outbox_rules{}};
  auto repeated = played_service::taken(stop_message);
  repeated.what = decided::cancel;
  repeated.is_duplicate = true;
  SECTION("it is told again in this life") {
    s.box.on_decision(played_service::place(), repeated, "m7", s.now); // not yet
    s.tell("acknowledgement", turn, acknowledged(stop_message, "", "🛑"));
    repeated.is_acknowledged = true;
    s.box.on_decision(played_service::place(), repeated, "m7", s.now);
  }
  SECTION("it was told before, or is told a moment later") {
    repeated.is_acknowledged = true;
    s.box.on_decision(played_service::place(), repeated, "m7", s.now);
    s.box.on_decision(played_service::place(), repeated, "m7", s.now);
    s.tell("acknowledgement", turn, acknowledged(stop_message, "Stopped.", ""));
  }
  s.run_dry();
  CHECK(s.posted_texts == strings{"react m7 🛑"});
}

TEST_CASE("nothing is added to a reply after its stop, whatever is told late") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "Some words");
  s.pump();
  s.delta(turn, 10, " and more");
  s.tell("message_decided", turn, decision_of(stop_message, "m2", "cancel", "cancel_word"));
  s.delta(turn, 19, " and yet more");
  s.run_dry();
  CHECK(s.posted_texts == strings{"post Some words", "edit 1 Some words\n⏹ stopping…"});
  s.abort(turn);
  s.run_dry();
  CHECK(s.posted_texts.size() == 2);
}

TEST_CASE("a post in flight when the stop comes is marked once it is known, and forgotten if it was not done") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "Some");
  const auto a = s.box.due(s.now);
  REQUIRE(a.size() == 1);
  s.delta(turn, 4, " more");
  s.abort(turn);
  CHECK(s.box.due(s.now).empty());
  SECTION("it was done") {
    s.box.done(a[0].number, s.perform(a[0]), s.now);
    s.run_dry();
    CHECK(s.messages["1"] == "Some\n⏹ stopping…");
  }
  SECTION("the service asked for patience") {
    s.box.done(a[0].number, {outcome::later, {}, milliseconds{500}}, s.now);
    s.run_dry();
    CHECK(s.posted_texts.empty());
  }
}

TEST_CASE("events that are told again do nothing, and overlapping text is taken once") {
  played_service s{outbox_rules{}};
  s.delta(turn, 0, "abc");
  s.events = 0;
  s.delta(turn, 0, "abc"); // the same id
  s.delta(turn, 1, "bcdé");
  s.complete(turn, "abcdéf");
  s.run_dry();
  CHECK(s.all() == "abcdéf");
}

TEST_CASE("a tool that runs is shown below the reply and goes when it has ended") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.delta(turn, 0, "I look.");
  s.pump();
  s.pass(milliseconds{1000});
  s.tell("tool_start", turn, R"({"call":"c","name":"web_search","input":{}})");
  s.pump();
  CHECK(s.messages["1"] == "I look.\n⏳ web_search");
  s.tell("tool_result", turn, R"({"call":"c","name":"web_search","ok":true})");
  s.complete(turn, "I look. Found.");
  s.run_dry();
  CHECK(s.messages["1"] == "I look. Found.");
}

TEST_CASE("a reply that ends without a word leaves no tool's line behind", "[outbox]") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.tell("tool_start", turn, R"({"call":"c","name":"write","input":{}})");
  s.pump();
  CHECK(s.messages["1"] == "⏳ write");
  s.complete(turn, "");
  s.run_dry();
  CHECK(s.messages["1"] == "✓");
}

TEST_CASE("without edits what was said so far is sent when a tool starts") {
  auto rules = lines();
  rules.one_line = false;
  played_service s{rules};
  s.start(turn);
  s.delta(turn, 0, "I look.");
  s.pump();
  CHECK(s.posted_texts.empty());
  s.tell("tool_start", turn, R"({"call":"c","name":"web_search","input":{}})");
  s.pump();
  CHECK(s.posted_texts == strings{"post I look."});
}

TEST_CASE("a question stands below what was said before it, and its answer closes it") {
  auto rules = outbox_rules{};
  rules.has_buttons = true;
  played_service s{rules};
  const auto call = operation_id::fresh();
  s.start(turn);
  s.delta(turn, 0, "May I?");
  s.tell("approval_required", turn,
         R"({"operation":")" + call.text() + R"(","name":"exec","input":{"a":1},"rule":"r"})");
  s.run_dry();
  REQUIRE(s.order.size() == 2);
  CHECK(s.messages["2"] == "✋ Waiting for approval: exec {\"a\":1}");
  REQUIRE(s.sent_actions.back().asks);
  CHECK(s.sent_actions.back().asks->call == call);
  CHECK(s.sent_actions.back().is_live);
  s.tell("approval_resolved", turn,
         R"({"operation":")" + call.text() + R"(","decision":"approved","by":{"id":"u","name":"Mia"},"reason":""})");
  s.run_dry();
  CHECK(s.messages["2"] == "✋ Waiting for approval: exec {\"a\":1}\n→ approved by Mia");
  CHECK_FALSE(s.sent_actions.back().is_live);
  s.complete(turn, "May I? Done.");
  s.run_dry();
  CHECK(s.messages["3"] == " Done.");
}

TEST_CASE("what a begun call asks is shown in its server's words, and is answered under an id of its own") {
  auto rules = outbox_rules{};
  rules.has_buttons = true;
  played_service s{rules};
  const auto call = operation_id::fresh(), question = operation_id::fresh();
  s.start(turn);
  s.tell("approval_required", turn,
         R"({"operation":")" + call.text() + R"(","name":"t","input":{},"rule":"r","question":{"id":")" +
             question.text() + R"(","server":"odd","message":"Where to?","form":{"properties":{"a":{},"b":{}}}}})");
  s.run_dry();
  CHECK(s.messages["1"] == "✋ Waiting for approval: odd asks: Where to? (a, b)");
  CHECK(s.sent_actions.back().asks->call == question);
  s.tell("approval_resolved", turn, R"({"operation":")" + call.text() + R"(","decision":"approved","by":null})");
  s.run_dry();
  CHECK(s.sent_actions.back().is_live); // that was the approval to begin
  s.tell("approval_resolved", turn,
         R"({"operation":")" + call.text() + R"(","decision":"cancelled","by":null,"question":")" + question.text() +
             R"("})");
  s.run_dry();
  CHECK_FALSE(s.sent_actions.back().is_live);
}

TEST_CASE("a reply that ends early for another reason than a person says so") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.abort(turn, "timeout");
  s.run_dry();
  CHECK(s.posted_texts == strings{"post ⚠️ The reply ended early: it took too long."});
}

TEST_CASE("a reply that is less than was wanted says why, also if it has no word", "[outbox]") {
  const std::map<std::string, std::string> reasons{
      {"length", "post ⚠️ The reply was cut: it reached the limit of one answer."},
      {"content_filter", "post ⚠️ The provider's content filter cut the reply."},
      {"refusal", "post ⚠️ The model refused to answer."}};
  for (const auto& [reason, words] : reasons) {
    played_service s{outbox_rules{}};
    s.tell("message_decided", turn, decision_of(hello_message, "1700.01", "turn", "no_cancel_word"));
    s.start(turn, hello_message.text());
    s.complete(turn, "", reason);
    s.run_dry();
    CHECK(s.posted_texts == strings{words});
    CHECK(s.sent_actions.at(0).reply_to == "1700.01");
    s.start(other);
    s.complete(other, "Half of it", reason);
    s.run_dry();
    CHECK(s.posted_texts == strings{words, "post Half of it", words});
  }
  played_service whole{outbox_rules{}};
  whole.start(turn);
  whole.complete(turn, "All of it");
  whole.run_dry();
  CHECK(whole.posted_texts == strings{"post All of it"});
}

TEST_CASE("a reply that was stopped says nothing of how its answer ended", "[outbox]") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.tell("operation_cancelling", turn, R"({"cancel":null})");
  s.complete(turn, "Half of it", "length");
  s.run_dry();
  CHECK(s.posted_texts.empty());
}

TEST_CASE("the stop of a reply says which commands it passed by", "[outbox]") {
  played_service s{outbox_rules{}};
  for (const auto& [ids, words] : std::vector<std::pair<std::string, std::string>>{
           {R"(["a"])", "1 command. A stop of the whole conversation ends it, too."},
           {R"(["a","b"])", "2 commands. A stop of the whole conversation ends them, too."}}) {
    s.posted_texts.clear();
    s.start(turn);
    s.tell("operation_cancelling", turn, R"({"cancel":null})");
    s.tell("turn_abort", turn, R"({"reason":"user","still_running":)" + ids + "}");
    s.run_dry();
    CHECK(s.posted_texts == strings{"post ⏳ Still running in the background: " + words});
  }
}

TEST_CASE("a Stop button silences the reply before any event says so") {
  auto rules = outbox_rules{};
  rules.has_buttons = true;
  played_service s{rules};
  s.start(turn);
  s.delta(turn, 0, "abc");
  s.pump();
  CHECK(s.sent_actions.back().is_live);
  s.box.drop(turn, s.now);
  s.delta(turn, 3, "def");
  s.run_dry();
  CHECK(s.messages["1"] == "abc\n⏹ stopping…");
  CHECK_FALSE(s.sent_actions.back().is_live);
}

TEST_CASE("what a cancel elsewhere fences is dropped: a scope above, the turn itself, everything") {
  const auto target = GENERATE(std::string(R"({"scope":"slack/T1"})"), R"({"operation":")" + turn.text() + R"("})",
                               std::string(R"({"everything":true})"));
  played_service s{lines()};
  s.start(turn);
  s.delta(turn, 0, "a\nb\nc\nd\ne\nf\n");
  s.pump();
  s.tell("cancel_fenced", turn, R"({"target":)" + target + "}", played_service::place("slack/T1"));
  s.run_dry();
  CHECK(s.posted_texts.size() == 4);
}

TEST_CASE("what sub-agents write is not shown") {
  played_service s{outbox_rules{}};
  event e;
  e.id = 1;
  e.type = event_type::text_delta;
  e.scope = played_service::place();
  e.operation = other;
  e.root = turn;
  e.data = R"({"offset":0,"text":"inner"})";
  s.box.on_event(e, s.now);
  e.id = 2;
  e.data = "not json";
  s.box.on_event(e, s.now);
  s.run_dry();
  CHECK(s.posted_texts.empty());
}
