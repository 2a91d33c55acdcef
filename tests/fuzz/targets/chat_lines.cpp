// IRC servers and XMPP servers that send any bytes, in any pieces: the result is bounded and UTF-8, and nothing that
// they send makes quell send a broken line or their markup.
#include "integrations/chat/irc/session.hpp"
#include "integrations/chat/xmpp/session.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

namespace chat = quell::integrations::chat;

constexpr std::size_t most_text = 64 << 10, most_name = 128;

/// Obeys a session, and checks everything that it sends.
template <class Session>
class world {
 public:
  world(Session& s, bool is_irc) : session_(s), is_irc_(is_irc) {}

  void play(choices& from) {
    session_.connected(now_);
    look();
    for (int i = 0; i < 100 && !from.at_end(); ++i) {
      now_ = now_ + std::chrono::milliseconds(10);
      switch (from.below(6)) {
      case 0:
        now_ = now_ + std::chrono::seconds(from.below(200));
        session_.tick(now_);
        break;
      case 1:
        session_.lost("cut", now_);
        session_.connected(now_);
        break;
      case 2:
        tell(std::string(from.text()));
        break;
      default:
        session_.received(std::string(from.text()) + (is_irc_ && from.yes() ? "\r\n" : ""), now_);
      }
      look();
    }
    session_.lost("end", now_);
    look();
  }

 private:
  void tell(const std::string& data) {
    chat::event e;
    e.id = ++events_;
    e.type = events_ % 2 == 0 ? event_type::acknowledgement : event_type::turn_complete;
    e.scope = *scope_path::parse(is_irc_ ? "irc/net/~23dev" : "xmpp/dev@rooms.example");
    e.operation = e.root = operation_id{{1, 0x9a, 0xa0, 0, 0, 0, 0x70, 0, 0x80}};
    e.data = data;
    session_.on_event(e, now_);
  }
  void look() {
    const auto sent = session_.to_send();
    if (is_irc_)
      for (std::size_t at = 0; at < sent.size();) {
        const auto end = sent.find("\r\n", at);
        expect(end != std::string::npos && end + 2 - at <= 512, "lines are whole and at most 512 bytes");
        expect(sent.find_first_of(std::string_view("\0\r\n", 3), at) == end, "a line has one end");
        at = end + 2;
      }
    for (const auto& h : session_.take_received()) {
      expect(h.message.text.size() <= most_text && is_utf8(h.message.text), "a message is bounded and UTF-8");
      expect(!h.message.author.id.empty() && h.message.author.id.size() <= most_name, "an author has a bounded id");
      expect(h.message.id.size() <= most_name, "an id is bounded");
      session_.decided(h.mark, chat::decision{}, now_);
    }
    session_.approvals();
    expect(session_.state().size() < (1 << 20), "the state is a line");
    session_.disconnect_wanted();
  }

  Session& session_;
  const bool is_irc_;
  boot_time now_{1'000'000'000};
  std::uint64_t events_ = 0;
};

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  choices from(bytes.substr(1));
  if (bytes.front() & 1) {
    chat::irc_settings s;
    s.host = "irc.example";
    s.network = "net";
    s.nick = "clanky";
    s.channels = {"#dev"};
    s.only_addressed = (bytes.front() & 2) != 0;
    if (bytes.front() & 4) s.sasl_user = s.sasl_password = "x";
    chat::irc::session session(s);
    world<chat::irc::session>(session, true).play(from);
  } else {
    chat::xmpp_settings s;
    s.domain = "bot.example";
    s.secret = "x";
    s.nick = "clanky";
    s.rooms = {"dev@rooms.example"};
    s.only_addressed = (bytes.front() & 2) != 0;
    s.corrections = (bytes.front() & 4) != 0;
    chat::xmpp::session session(s, "id");
    world<chat::xmpp::session>(session, false).play(from);
  }
}

std::vector<std::string> seeds() {
  const auto line = [](choice_writer& to, std::string_view text) { to.byte(4).piece(text).byte(1); };
  choice_writer irc;
  irc.byte(3);
  for (const char* text : {":s CAP * LS :message-tags sasl", ":s CAP * ACK :message-tags", ":s 001 clanky :hi",
                           ":s 005 clanky CASEMAPPING=ascii", ":s 376 clanky :x", ":clanky!u@h JOIN #dev",
                           "@msgid=1 :mia!u@h PRIVMSG #dev :clanky: hello", "PING :x"})
    line(irc, text);
  irc.byte(2).piece(R"({"text":"one\ntwo"})");
  line(irc, ":op!o@h KICK #dev clanky :x");
  choice_writer xmpp;
  xmpp.byte(2);
  for (const char* text :
       {"<stream:stream xmlns:stream='http://etherx.jabber.org/streams' xmlns='jabber:component:accept' id='1'>",
        "<handshake/>", "<presence from='dev@rooms.example/clanky' to='clanky@bot.example'/>",
        "<message type='groupchat' from='dev@rooms.example/mia' to='clanky@bot.example'><body>clanky: "
        "a</body></message>",
        "<iq type='get' id='1' from='a@b' to='clanky@bot.example'><ping xmlns='urn:xmpp:ping'/></iq>", "<!DOCTYPE x>"})
    xmpp.byte(4).piece(text);
  return {irc.done(), xmpp.done()};
}

const known_target known("chat_lines", run, seeds);

} // namespace
} // namespace quell::fuzz
