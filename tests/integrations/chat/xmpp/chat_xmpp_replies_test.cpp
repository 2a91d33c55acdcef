// A stop in a room that replies to somebody (XEP-0461): to another occupant it is said to that one, not to the bot.
#include "tests/integrations/chat/xmpp/chat_xmpp_world.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

std::string reply_to(const std::string& whom) { return "<reply xmlns='urn:xmpp:reply:0' to='" + whom + "' id='s-1'/>"; }
std::string occupant(const std::string& nick) { return "dev@rooms.example/" + nick; }

struct room_world : xmpp_world {
  explicit room_world(const std::string& nick = "clanky") {
    opens();
    says("<handshake/>");
    if (nick != "clanky")
      says("<presence type='error' from='dev@rooms.example/clanky' to='clanky@bot.example'><error type='cancel'>"
           "<conflict xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></presence>");
    enters(nick);
  }
  /// Whether the message reached the core, as what Mia said in the room.
  bool takes(const std::string& body, const std::string& more = "") {
    const auto before = received_messages.size();
    room(body, "Mia", more);
    return received_messages.size() > before;
  }
};

} // namespace

TEST_CASE("a stop that replies to another occupant is theirs", "[xmpp][replies]") {
  room_world w;
  CHECK_FALSE(w.takes("stop", reply_to(occupant("Oz"))));
  CHECK_FALSE(w.takes("stop", reply_to(occupant("oz"))));
  CHECK_FALSE(w.takes("stop", reply_to("elsewhere@rooms.example/Oz")));
}

TEST_CASE("a stop that replies to the bot, to oneself or to nobody that can be told is the bot's", "[xmpp][replies]") {
  room_world w;
  CHECK(w.takes("stop"));
  CHECK(w.takes("stop", reply_to(occupant("clanky"))));
  CHECK(w.takes("stop", reply_to(occupant("Mia"))));
  CHECK(w.takes("stop", reply_to("dev@rooms.example")));
  CHECK(w.takes("stop", reply_to("")));
  CHECK(w.takes("stop", "<reply xmlns='urn:xmpp:reply:0'/>"));
  CHECK(w.takes("stop", "<reply xmlns='urn:xmpp:reply:another' to='dev@rooms.example/Oz'/>"));
  for (const auto& h : w.received_messages) CHECK(h.message.text == "stop");
}

TEST_CASE("a stop that names the bot is the bot's, whomever it replies to", "[xmpp][replies]") {
  room_world w;
  CHECK(w.takes("clanky: stop", reply_to(occupant("Oz"))));
  CHECK(w.received_messages.back().message.addressed == true);
}

TEST_CASE("under another nick a reply to either of the bot's names is the bot's", "[xmpp][replies]") {
  room_world w("clanky_");
  CHECK(w.takes("stop", reply_to(occupant("clanky_"))));
  CHECK(w.takes("stop", reply_to(occupant("clanky"))));
  CHECK_FALSE(w.takes("stop", reply_to(occupant("Oz"))));
}

TEST_CASE("in a chat of two a reply changes nothing", "[xmpp][replies]") {
  xmpp_world w;
  w.in_room();
  w.chats("stop", reply_to("oz@example/phone"));
  REQUIRE(w.received_messages.size() == 1);
  CHECK(w.received_messages[0].message.addressed == true);
}
