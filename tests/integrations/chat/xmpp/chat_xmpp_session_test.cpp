// An XMPP session against a server played stanza by stanza, on a clock that the test moves.
#include "tests/integrations/chat/xmpp/chat_xmpp_world.hpp"

using namespace quell;
using namespace quell::testing;
using quell::integrations::chat::redial;

namespace {

constexpr const char* dev = "xmpp/dev@rooms.example";

} // namespace

TEST_CASE("an XMPP session shakes hands, enters its rooms and says where it is") {
  xmpp_world w;
  w.opens();
  CHECK(w.has_sent("<handshake>" + quell::integrations::chat::xmpp::sha1_hex("abcgeheim") + "</handshake>"));
  CHECK_FALSE(w.has_sent("geheim</"));
  CHECK_FALSE(w.has_sent("<presence"));
  w.says("<handshake/>");
  CHECK(w.has_sent("<presence from='clanky@bot.example' to='dev@rooms.example/clanky'>"));
  CHECK(w.has_sent("<history maxstanzas='0'/>"));
  w.enters("clanky", "<status code='201'/>");
  CHECK(w.has_sent("http://jabber.org/protocol/muc#owner"));
  CHECK(w.made.state() == "connected to 127.0.0.1 as clanky@bot.example, in dev@rooms.example");
}

TEST_CASE("a wrong secret, an unknown domain and a second component are refusals") {
  for (const char* what : {"not-authorized", "host-unknown", "conflict"}) {
    xmpp_world w;
    w.opens();
    w.says("<stream:error><" + std::string(what) + " xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>");
    REQUIRE(w.disconnect);
    CHECK(w.disconnect->when == redial::slowly);
    CHECK(w.disconnect->why.find(what) != std::string::npos);
  }
  xmpp_world w;
  w.in_room();
  w.says("<stream:error><system-shutdown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>");
  REQUIRE(w.disconnect);
  CHECK(w.disconnect->when == redial::soon);
}

TEST_CASE("in a room what is addressed is a message, and a stop always is") {
  xmpp_world w;
  w.in_room();
  w.room("clanky: build it", "Mia", "<stanza-id xmlns='urn:xmpp:sid:0' id='s-1' by='dev@rooms.example'/>");
  w.room("just talk");
  w.room("stop");
  REQUIRE(w.received_messages.size() == 2);
  CHECK(w.received_messages[0].message.scope.text() == dev);
  CHECK(w.received_messages[0].message.id == "s-1");
  CHECK(w.received_messages[0].message.text == "build it");
  CHECK(w.received_messages[0].message.addressed == true);
  CHECK(w.received_messages[0].message.author.id == "dev@rooms.example/Mia");
  CHECK(w.received_messages[0].message.author.name == "Mia");
  CHECK(w.received_messages[1].message.text == "stop");
  CHECK(w.received_messages[1].message.addressed == false);
}

TEST_CASE("history, reflections, subjects, whispers, strangers' rooms and errors are not messages") {
  xmpp_world w;
  w.in_room();
  w.room("clanky: old", "Mia", "<delay xmlns='urn:xmpp:delay' stamp='2026-01-01T00:00:00Z'/>");
  w.room("clanky: mine", "clanky");
  w.says("<message type='groupchat' from='dev@rooms.example' to='clanky@bot.example'><body>stop</body></message>");
  w.says(
      "<message type='groupchat' from='dev@rooms.example/Mia' to='clanky@bot.example'><subject>x</subject></message>");
  w.says("<message type='chat' from='dev@rooms.example/Mia' to='clanky@bot.example'><body>stop</body></message>");
  w.says("<message type='groupchat' from='x@rooms.example/Mia' to='clanky@bot.example'><body>stop</body></message>");
  w.says("<message type='error' from='mia@example' to='clanky@bot.example'><body>stop</body></message>");
  w.says("<message type='chat' from='mia@example' to='other@bot.example'><body>stop</body></message>");
  w.says("<message type='chat' from='clanky@bot.example/x' to='clanky@bot.example'><body>stop</body></message>");
  w.says("<message type='chat' to='clanky@bot.example'><body>stop</body></message>");
  CHECK(w.received_messages.empty());
}

TEST_CASE("a chat is addressed, and a delivery is known by its sender's origin id") {
  xmpp_world w;
  w.in_room();
  w.chats("hello &lt;you&gt;", "<origin-id xmlns='urn:xmpp:sid:0' id='o-1'/>");
  w.chats("again");
  w.chats("third", "<stanza-id xmlns='urn:xmpp:sid:0' id='forged' by='dev@rooms.example'/>");
  REQUIRE(w.received_messages.size() == 3);
  CHECK(w.received_messages[0].message.scope.text() == "xmpp/mia@example");
  CHECK(w.received_messages[0].message.text == "hello <you>");
  CHECK(w.received_messages[0].message.id == "mia@example/phone o-1");
  CHECK(w.received_messages[0].message.author.id == "mia@example");
  CHECK(w.received_messages[1].message.id.empty());
  CHECK(w.received_messages[2].message.id.empty());
}

TEST_CASE("replies go to the room or the person, escaped, and nothing of a stopped one follows") {
  xmpp_world w;
  w.in_room();
  w.answers(dev, 1, "a < b");
  w.completes(dev, 1, "a < b");
  CHECK(w.has_sent("<message type='groupchat' from='clanky@bot.example' to='dev@rooms.example'"));
  CHECK(w.has_sent("<body>a &lt; b</body>"));
  const std::string long_text(40'000, 'o');
  w.answers("xmpp/mia@example", 2, long_text);
  w.passes(600ms);
  const auto before = count_of(w.out, "type='chat'");
  CHECK(before < 10);
  w.tells("message_decided", "xmpp/mia@example", {},
          R"({"message":"m","id":"","decision":"cancel","why":"cancel_word"})");
  w.tells("acknowledgement", "xmpp/mia@example", {}, R"({"message":"m","cancel":"c","text":null,"reaction":"x"})");
  w.tells("turn_abort", "xmpp/mia@example", turn_number(2), R"({"reason":"user"})");
  w.passes(60s);
  CHECK(count_of(w.out, "type='chat'") == before + 1);
}

TEST_CASE("with corrections a reply grows in one message") {
  auto s = usual();
  s.corrections = true;
  xmpp_world w(s);
  w.in_room();
  w.answers(dev, 1, "one");
  w.passes(2s);
  w.completes(dev, 1, "one two");
  w.passes(5s);
  CHECK(count_of(w.out, "<message ") == 2);
  CHECK(count_of(w.out, "<replace id=") == 1);
  CHECK(w.has_sent("<body>one two</body><replace id="));
}

TEST_CASE("others' questions are answered as far as they concern a bot") {
  xmpp_world w;
  w.in_room();
  const auto ask = [&](const std::string& what, const std::string& type = "get") {
    w.sent();
    w.says("<iq type='" + type + "' from='mia@example/x' to='clanky@bot.example' id='q&apos;1'>" + what + "</iq>");
    return w.sent();
  };
  CHECK(ask("<ping xmlns='urn:xmpp:ping'/>") ==
        "<iq from='clanky@bot.example' to='mia@example/x' id='q&apos;1' type='result'/>");
  CHECK(ask("<query xmlns='http://jabber.org/protocol/disco#info'/>").find("category='client' type='bot'") !=
        std::string::npos);
  CHECK(ask("<query xmlns='jabber:iq:roster'/>", "set").find("service-unavailable") != std::string::npos);
  CHECK(ask("<ping xmlns='urn:xmpp:ping'/>", "result").empty());
  w.says("<presence type='subscribe' from='mia@example' to='clanky@bot.example'/>");
  CHECK(w.has_sent("type='subscribed'"));
}

TEST_CASE("who is kicked, forgotten or refused comes back later and later; a taken nick leads to another") {
  xmpp_world w;
  w.in_room();
  w.says("<presence type='unavailable' from='dev@rooms.example/clanky' to='clanky@bot.example'>"
         "<x xmlns='http://jabber.org/protocol/muc#user'><status code='110'/><status code='307'/></x></presence>");
  CHECK(w.made.state().find("not in dev@rooms.example: kicked") != std::string::npos);
  w.answers(dev, 1, "waits");
  w.completes(dev, 1, "waits");
  CHECK_FALSE(w.has_sent("waits"));
  w.passes(5s);
  CHECK(count_of(w.out, "to='dev@rooms.example/clanky'") == 1);
  w.says("<presence type='error' from='dev@rooms.example/clanky' to='clanky@bot.example'><error type='cancel'>"
         "<conflict xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></presence>");
  CHECK(w.has_sent("to='dev@rooms.example/clanky_'"));
  w.enters("clanky_");
  w.passes(5s);
  CHECK(w.has_sent("waits"));
  for (int i = 0; i < 4; ++i) {
    w.passes(80s);
    w.says(" ");
  }
  const auto at = w.out.rfind("<iq type='get'");
  REQUIRE(at != std::string::npos);
  const auto id = w.out.substr(w.out.find("id='", at) + 4,
                               w.out.find("'", w.out.find("id='", at) + 4) - w.out.find("id='", at) - 4);
  CHECK(w.out.find("to='dev@rooms.example/clanky_'", at) != std::string::npos);
  w.says("<iq type='error' from='dev@rooms.example/clanky_' to='clanky@bot.example' id='" + id +
         "'><error type='cancel'><not-acceptable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>");
  CHECK(w.made.state().find("forgot") != std::string::npos);
}

TEST_CASE("a silent XMPP server is asked, and left when it does not answer; blanks keep the way open") {
  xmpp_world w;
  w.in_room();
  w.passes(100s);
  CHECK(w.has_sent("to='bot.example'"));
  CHECK(w.has_sent(" "));
  CHECK_FALSE(w.disconnect);
  w.passes(100s);
  REQUIRE(w.disconnect);
  CHECK(w.disconnect->why.find("silent") != std::string::npos);
}

TEST_CASE("broken XML ends the connection") {
  xmpp_world w;
  w.in_room();
  w.says("<message></iq>");
  REQUIRE(w.disconnect);
  w.chats("stop");
  CHECK(w.received_messages.empty());
}

TEST_CASE("directly it is spoken to by admitted addresses only") {
  auto settings = usual();
  settings.users = {"mia@example.org", "@friends.example"};
  xmpp_world w(settings);
  w.in_room();
  const auto writes = [&](const std::string& from) {
    w.says("<message type='chat' from='" + from + "' to='clanky@bot.example'><body>hello</body></message>");
  };
  writes("kim@example.org/x");
  writes("mia@example.org.evil/x");
  writes("friends.example");
  CHECK(w.received_messages.empty());
  writes("mia@example.org/phone");
  writes("zoe@friends.example/x");
  REQUIRE(w.received_messages.size() == 2);
  CHECK(w.received_messages[0].message.author.account == "mia@example.org");
}
