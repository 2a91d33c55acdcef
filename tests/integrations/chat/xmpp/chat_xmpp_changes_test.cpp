// Corrections and retractions of what people have asked the bot.
#include "tests/integrations/chat/xmpp/chat_xmpp_world.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

struct changes_world : xmpp_world {
  changes_world() { in_room(); }
  /// In the room.
  void say(const std::string& body, const std::string& id, const std::string& more = "",
           const std::string& nick = "Mia") {
    says("<message type='groupchat' id='" + id + "' from='dev@rooms.example/" + nick +
         "' to='clanky@bot.example'><body>" + body + "</body><stanza-id xmlns='urn:xmpp:sid:0' id='s-" + id +
         "' by='dev@rooms.example'/>" + more + "</message>");
  }
  static std::string instead_of(const std::string& id) {
    return "<replace id='" + id + "' xmlns='urn:xmpp:message-correct:0'/>";
  }
  void take_back(const std::string& id, const std::string& nick = "Mia") {
    say("/me retracted a previous message", "r-" + id, "<retract id='" + id + "' xmlns='urn:xmpp:message-retract:1'/>",
        nick);
  }
};

} // namespace

TEST_CASE("a corrected request is a change of it, not another message", "[xmpp]") {
  changes_world w;
  w.say("clanky: buidl it", "m1");
  REQUIRE(w.received_messages.size() == 1);
  const auto key = w.received_messages[0].key;
  w.say("clanky: build it", "m2", changes_world::instead_of("m1"));
  w.say("clanky: build all", "m3", changes_world::instead_of("m1"));
  w.say("clanky: build all", "m3", changes_world::instead_of("m1")); // delivered again
  w.say("stop", "m4", changes_world::instead_of("m1"));
  w.say("never mind her", "m5", changes_world::instead_of("m1"));
  CHECK(w.received_messages.size() == 1);
  REQUIRE(w.changes.size() == 5);
  for (const auto& change : w.changes) {
    CHECK(change.key == key);
    REQUIRE(change.now);
    CHECK(change.now->id == key);
    CHECK(change.now->author.id == "dev@rooms.example/Mia");
  }
  CHECK(w.changes[0].now->text == "build it");
  CHECK(w.changes[0].now->addressed == true);
  CHECK(w.changes[0].stamp != w.changes[1].stamp);
  CHECK(w.changes[1].stamp == w.changes[2].stamp);
  CHECK(w.changes[3].is_cancel);
  CHECK(w.changes[4].now->addressed == false); // it is for somebody else now
}

TEST_CASE("a request is taken back by its author alone, by the room's id or its own", "[xmpp]") {
  changes_world w;
  w.say("clanky: build it", "m1");
  w.say("clanky: test it", "m2");
  w.take_back("s-m1", "Oz");
  w.take_back("s-unknown");
  CHECK(w.changes.empty());
  w.take_back("s-m1");
  w.take_back("m2");
  REQUIRE(w.changes.size() == 2);
  CHECK(w.changes[0].key == w.received_messages[0].key);
  CHECK_FALSE(w.changes[0].now);
  CHECK(w.changes[1].key == w.received_messages[1].key);
  CHECK(w.received_messages.size() == 2);
}

TEST_CASE("a correction of what the bot does not know is a message", "[xmpp]") {
  changes_world w;
  w.say("just talk", "m1");
  w.say("clanky: build it", "m2", changes_world::instead_of("m1"));
  w.say("stop", "m3");
  w.say("clanky: go on", "m4", changes_world::instead_of("m3"));
  w.say("clanky: build", "m5", changes_world::instead_of("m2"), "Oz");
  CHECK(w.changes.empty());
  REQUIRE(w.received_messages.size() == 4);
  CHECK(w.received_messages[0].message.text == "build it");
  CHECK(w.received_messages[2].message.text == "go on");
}

TEST_CASE("whoever takes the name of somebody who left changes none of their requests", "[xmpp]") {
  changes_world w;
  w.say("clanky: build it", "m1");
  w.says("<presence type='unavailable' from='dev@rooms.example/Mia' to='clanky@bot.example'/>");
  w.take_back("m1");
  w.say("clanky: break it", "m2", changes_world::instead_of("m1"));
  CHECK(w.changes.empty());
  CHECK(w.received_messages.size() == 2);
}

TEST_CASE("in a chat of two a request is corrected and taken back, too", "[xmpp]") {
  changes_world w;
  w.chats("build it", "<origin-id xmlns='urn:xmpp:sid:0' id='o1'/>");
  w.says("<message type='chat' from='mia@example/phone' to='clanky@bot.example' id='m2'><body>test it</body>" +
         changes_world::instead_of("m1") + "</message>");
  w.says("<message type='chat' from='mia@example/phone' to='clanky@bot.example' id='m3'>"
         "<retract id='o1' xmlns='urn:xmpp:message-retract:1'/></message>");
  CHECK(w.received_messages.size() == 1);
  REQUIRE(w.changes.size() == 2);
  CHECK(w.changes[0].now->text == "test it");
  CHECK_FALSE(w.changes[1].now);
}
