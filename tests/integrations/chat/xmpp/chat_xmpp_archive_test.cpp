// Messages of a room while the bot was away, against a server played stanza by stanza.
#include "tests/integrations/chat/xmpp/chat_xmpp_world.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

constexpr const char* dev = "xmpp/dev@rooms.example";

xmpp_settings remembering() {
  auto s = usual();
  s.clock = [] { return wall_time{std::chrono::milliseconds{1'800'000'000'000}}; };
  return s;
}

struct archive_world : xmpp_world {
  /// `received_messages`: the archive's id of the last message of an earlier life.
  explicit archive_world(const std::string& received_messages = "a-1") : xmpp_world(remembering()) {
    if (received_messages.empty()) return;
    made.recall(R"({"shown":null,"more":"{\"heard\":{\"dev@rooms.example\":\")" + received_messages + R"(\"}}"})", now);
    made.events_are_complete(0, false, now); // nothing happened in quelld meanwhile
  }
  std::string query_id() const {
    const auto iq = out.rfind("<iq "), id = out.find("id='", iq) + 4;
    return out.substr(id, out.find('\'', id) - id);
  }
  void room_answers(const std::string& type, const std::string& what) {
    says("<iq type='" + type + "' from='dev@rooms.example' to='clanky@bot.example' id='" + query_id() + "'>" + what +
         "</iq>");
  }
  void keeps_archive() {
    room_answers("result",
                 "<query xmlns='http://jabber.org/protocol/disco#info'><feature var='urn:xmpp:mam:2'/></query>");
  }
  void tells_missed(const std::string& id, const std::string& body, const std::string& nick = "Mia") {
    says("<message from='dev@rooms.example' to='clanky@bot.example'><result xmlns='urn:xmpp:mam:2' queryid='" +
         query_id() + "' id='" + id +
         "'><forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='2027-01-15T07:00:00Z'/>"
         "<message xmlns='jabber:client' type='groupchat' from='dev@rooms.example/" +
         nick + "'><body>" + body + "</body></message></forwarded></result></message>");
  }
  void ends_page(const std::string& last = "") {
    room_answers("result", last.empty()
                               ? "<fin xmlns='urn:xmpp:mam:2' complete='true'/>"
                               : "<fin xmlns='urn:xmpp:mam:2'><set xmlns='http://jabber.org/protocol/rsm'><last>" +
                                     last + "</last></set></fin>");
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const auto& h : received_messages) all.push_back(h.message.text);
    return all;
  }
};

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("what a room keeps is said in order, page by page, and what is said meanwhile waits", "[missed]") {
  archive_world w;
  w.opens();
  w.says("<handshake/>");
  w.enters();
  w.keeps_archive();
  CHECK(w.has_sent("<after>a-1</after>"));
  CHECK(w.has_sent("<value>2027-01-14T08:00:00Z</value>")); // one day earlier
  w.tells_missed("a-2", "clanky: one");
  w.tells_missed("a-3", "just talk");
  w.tells_missed("a-4", "clanky: mine", "clanky");
  w.room("clanky: three", "Oz", "<stanza-id xmlns='urn:xmpp:sid:0' id='a-6' by='dev@rooms.example'/>");
  w.ends_page("a-4");
  CHECK(w.has_sent("<after>a-4</after>"));
  w.tells_missed("a-5", "clanky: two");
  CHECK(w.received_messages.empty());
  w.ends_page();
  CHECK(w.texts() == strings{"one", "two", "three"});
  REQUIRE(w.received_messages.size() == 3);
  CHECK(w.received_messages[0].message.id == "a-2");
  CHECK(w.received_messages[0].message.author.id == "dev@rooms.example/Mia");
  CHECK(w.received_messages[0].message.scope.text() == dev);
  CHECK(w.made.to_keep().find("a-1") != std::string::npos); // nothing is decided yet
  for (const auto& h : w.received_messages) w.made.decided(h.mark, chat::decision{}, w.now);
  CHECK(w.made.to_keep().find("a-6") != std::string::npos);
}

TEST_CASE("a stop among them is performed first, and what was said before it is not begun", "[missed]") {
  archive_world w;
  w.opens();
  w.says("<handshake/>");
  w.enters();
  w.keeps_archive();
  w.tells_missed("a-2", "clanky: delete everything");
  w.tells_missed("a-3", "stop");
  CHECK(w.texts() == strings{"stop"});
  w.tells_missed("a-4", "clanky: hello");
  w.ends_page();
  CHECK(w.texts() == strings{"stop", "hello"});
  CHECK(w.has_sent("stopped before it began: 1 message"));
}

TEST_CASE("a stop said while the past is fetched waits for nothing, and an archive that is silent is not waited for",
          "[missed]") {
  archive_world w;
  w.opens();
  w.says("<handshake/>");
  w.enters();
  w.room("clanky: delete everything");
  CHECK(w.received_messages.empty());
  w.room("stop");
  CHECK(w.texts() == strings{"stop"});
  w.room("clanky: hello");
  w.passes(31s);
  CHECK(w.texts() == strings{"stop", "hello"});
}

TEST_CASE("where nothing is kept, refused or forgotten everything goes on at once", "[missed]") {
  archive_world w;
  w.opens();
  w.says("<handshake/>");
  w.enters();
  w.room("clanky: hello");
  SECTION("no archive") {
    w.room_answers("result", "<query xmlns='http://jabber.org/protocol/disco#info'><feature var='muc_open'/></query>");
  }
  SECTION("no answer for us") {
    w.room_answers("error",
                   "<error type='cancel'><service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>");
  }
  SECTION("the place is forgotten") {
    w.keeps_archive();
    w.room_answers("error",
                   "<error type='cancel'><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>");
  }
  CHECK(w.texts() == strings{"hello"});
}

TEST_CASE("nobody but the room tells what was said in it, and only what was asked for", "[missed]") {
  archive_world w;
  w.opens();
  w.says("<handshake/>");
  w.enters();
  w.keeps_archive();
  const auto forged = [&](const std::string& from, const std::string& inner, const std::string& query) {
    w.says("<message from='" + from + "' to='clanky@bot.example'><result xmlns='urn:xmpp:mam:2' queryid='" + query +
           "' id='x'><forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' type='groupchat' from='" +
           inner + "'><body>stop</body></message></forwarded></result></message>");
  };
  forged("dev@rooms.example/Mia", "dev@rooms.example/Oz", w.query_id());
  forged("mia@example/x", "dev@rooms.example/Oz", w.query_id());
  forged("dev@rooms.example", "other@rooms.example/Oz", w.query_id());
  forged("dev@rooms.example", "dev@rooms.example/Oz", "another");
  w.ends_page();
  CHECK(w.received_messages.empty());
}

TEST_CASE("a room in which nobody has spoken to us is not asked", "[missed]") {
  archive_world w("");
  w.opens();
  w.says("<handshake/>");
  w.enters();
  CHECK_FALSE(w.has_sent("disco#info"));
  w.room("clanky: hello", "Mia", "<stanza-id xmlns='urn:xmpp:sid:0' id='a-1' by='dev@rooms.example'/>");
  w.decides(chat::decision{});
  CHECK(w.made.to_keep().find("a-1") != std::string::npos);
}
