// An XMPP session in a room of a server that the test plays.
#pragma once

#include "integrations/chat/xmpp/session.hpp"
#include "tests/integrations/chat/chat_sessions.hpp"

namespace quell::testing {

using quell::integrations::chat::xmpp_settings;
using xmpp_session = quell::integrations::chat::xmpp::session;

inline xmpp_settings usual() {
  xmpp_settings s;
  s.domain = "bot.example";
  s.secret = "geheim";
  s.nick = "clanky";
  s.rooms = {"dev@rooms.example"};
  s.users = {"*"};
  s.is_cancel = [](std::string_view text, const std::vector<std::string>&) { return text == "stop"; };
  return s;
}

struct xmpp_world : session_world {
  explicit xmpp_world(xmpp_settings s = usual()) : session_world(made), made(std::move(s), "id") {}
  void opens() {
    connect();
    says("<?xml version='1.0'?><stream:stream xmlns:stream='http://etherx.jabber.org/streams' "
         "xmlns='jabber:component:accept' id='abc' from='bot.example'>");
  }
  void enters(const std::string& nick = "clanky", const std::string& more = "") {
    says("<presence from='dev@rooms.example/" + nick +
         "' to='clanky@bot.example'><x xmlns='http://jabber.org/protocol/muc#user'><status code='110'/>" + more +
         "</x></presence>");
  }
  void in_room() {
    opens();
    says("<handshake/>");
    enters();
    sent();
  }
  void room(const std::string& body, const std::string& nick = "Mia", const std::string& more = "") {
    says("<message type='groupchat' from='dev@rooms.example/" + nick + "' to='clanky@bot.example'><body>" + body +
         "</body>" + more + "</message>");
  }
  void chats(const std::string& body, const std::string& more = "") {
    says("<message type='chat' from='mia@example/phone' to='clanky@bot.example' id='m1'><body>" + body + "</body>" +
         more + "</message>");
  }
  xmpp_session made;
};

} // namespace quell::testing
