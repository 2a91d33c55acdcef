// An IRC session against a server played line by line, on a clock that the test moves.
#include "integrations/chat/irc/session.hpp"
#include "tests/integrations/chat/chat_sessions.hpp"

using namespace quell;
using namespace quell::testing;
using quell::integrations::chat::irc_settings;
using quell::integrations::chat::redial;
using irc_session = quell::integrations::chat::irc::session;

namespace {

irc_settings usual() {
  irc_settings s;
  s.host = "irc.example";
  s.network = "net";
  s.nick = "clanky";
  s.channels = {"#Dev"};
  s.users = {"*"};
  s.is_cancel = [](std::string_view text, const std::vector<std::string>&) { return text == "stop"; };
  return s;
}

struct irc_world : session_world {
  explicit irc_world(irc_settings s = usual()) : session_world(made), made(std::move(s)) {}
  void line(const std::string& text) { says(text + "\r\n"); }
  /// Registers and joins a channel, with a server that sends the minimum.
  void registers(const std::string& features = "CASEMAPPING=ascii CHANTYPES=#") {
    connect();
    line(":s CAP * LS :message-tags multi-prefix");
    line(":s CAP * ACK :message-tags");
    line(":s 001 clanky :Welcome");
    line(":s 005 clanky " + features + " :are supported");
    line(":s 376 clanky :End of MOTD");
  }
  void joins() { line(":clanky!~quell@host.example JOIN :#dev"); }
  void in_channel() {
    registers();
    joins();
    sent();
  }
  void channel(const std::string& text, const std::string& nick = "mia") {
    line(":" + nick + "!m@h PRIVMSG #dev :" + text);
  }
  irc_session made;
};

constexpr const char* dev = "irc/net/~23dev";

} // namespace

TEST_CASE("an IRC session registers, joins and says where it is") {
  irc_world w;
  w.registers();
  const auto sent = w.sent();
  CHECK(sent.starts_with("CAP LS 302\r\nNICK clanky\r\nUSER quell 0 * :quell\r\n"));
  CHECK(sent.find("CAP REQ :message-tags\r\nCAP END\r\nJOIN #Dev\r\n") != std::string::npos);
  w.joins();
  CHECK(w.made.state() == "connected to irc.example as clanky, in #Dev");
  CHECK_FALSE(w.made.is_up());
  w.passes(11s);
  CHECK(w.made.is_up());
  w.line("PING :abc def");
  CHECK(w.has_sent("PONG :abc def\r\n"));
}

TEST_CASE("SASL PLAIN is finished before CAP END, in pieces of 400") {
  auto s = usual();
  s.sasl_user = "clanky";
  s.sasl_password = std::string(600, 'p');
  irc_world w(s);
  w.connect();
  w.line(":s CAP * LS * :multi-prefix");
  w.line(":s CAP * LS :sasl=PLAIN,EXTERNAL");
  CHECK(w.has_sent("CAP REQ :sasl\r\n"));
  w.line(":s CAP * ACK :sasl");
  CHECK(w.has_sent("AUTHENTICATE PLAIN\r\n"));
  CHECK_FALSE(w.has_sent("CAP END"));
  w.sent();
  w.line("AUTHENTICATE +");
  const auto pieces = w.sent();
  CHECK(count_of(pieces, "AUTHENTICATE ") == 3); // 614 bytes are 820 letters
  CHECK(pieces.find("AGNsYW5reQBwcHBw") != std::string::npos);
  w.line(":s 903 clanky :done");
  CHECK(w.has_sent("CAP END\r\n"));
  w.line(":s 001 clanky :Welcome");
  CHECK_FALSE(w.disconnect);
}

TEST_CASE("without the SASL that was asked for nobody is let in, and it is not tried again and again") {
  for (const char* answer : {":s CAP * LS :multi-prefix", ":s 001 clanky :Welcome", ":s 904 clanky :wrong"}) {
    auto s = usual();
    s.sasl_user = "clanky";
    s.sasl_password = "geheim";
    irc_world w(s);
    w.connect();
    w.line(answer);
    REQUIRE(w.disconnect);
    CHECK(w.disconnect->when == redial::slowly);
    CHECK(w.disconnect->why.find("SASL") != std::string::npos);
    CHECK(w.disconnect->why.find("geheim") == std::string::npos);
  }
}

TEST_CASE("a wrong server password is a refusal that a person must remove") {
  for (const char* answer : {"ERROR :Access denied: Bad password?", ":s 464 clanky :Password incorrect"}) {
    auto s = usual();
    s.password = "geheim";
    irc_world w(s);
    w.connect();
    CHECK(w.has_sent("PASS :geheim\r\n"));
    w.line(answer);
    REQUIRE(w.disconnect);
    CHECK(w.disconnect->when == redial::slowly);
  }
}

TEST_CASE("a taken nick leads to others, and later back to the wanted one") {
  irc_world w;
  w.connect();
  w.line(":s 433 * clanky :in use");
  CHECK(w.has_sent("NICK clanky_\r\n"));
  w.line(":s 433 * clanky_ :in use");
  w.line(":s 433 * clanky__ :in use");
  CHECK(w.has_sent("NICK clanky3\r\n"));
  w.line(":s 001 clanky3 :Welcome");
  w.line(":s 422 clanky3 :no MOTD");
  w.line(":clanky3!q@h JOIN #dev");
  w.sent();
  w.channel("clanky3: build");
  w.channel("clanky: build too"); // people still use the old name
  REQUIRE(w.received_messages.size() == 2);
  CHECK(w.received_messages[0].message.bot_names == std::vector<std::string>{"clanky3", "clanky"});
  w.passes(61s);
  CHECK(w.has_sent("NICK clanky\r\n"));
  w.line(":s 433 clanky3 clanky :in use");
  CHECK(w.made.nick() == "clanky3");
  w.line(":clanky3!q@h NICK :clanky");
  CHECK(w.made.nick() == "clanky");
}

TEST_CASE("in a channel what is addressed is a message, and a stop always is") {
  irc_world w;
  w.in_channel();
  w.line("@msgid=abc123 :mia!m@h PRIVMSG #DEV :clanky: build it");
  w.channel("just talking about clanky");
  w.channel("stop");
  w.channel("\x01"
            "ACTION waves\x01");
  REQUIRE(w.received_messages.size() == 2);
  const auto& first = w.received_messages[0].message;
  CHECK(first.scope.text() == dev);
  CHECK(first.id == "abc123");
  CHECK(first.text == "build it");
  CHECK(first.addressed == true);
  CHECK(first.author.id == "mia");
  CHECK(w.received_messages[1].message.text == "stop");
  CHECK(w.received_messages[1].message.addressed == false);
  CHECK(w.received_messages[1].message.scope.text() == dev);
}

TEST_CASE("with everything heard, talk is a message too") {
  auto s = usual();
  s.only_addressed = false;
  irc_world w(s);
  w.in_channel();
  w.channel("hello all");
  w.channel("\x01"
            "ACTION waves\x01");
  REQUIRE(w.received_messages.size() == 2);
  CHECK(w.received_messages[0].message.addressed == true); // a message that is not addressed would start nothing
  CHECK(w.received_messages[1].message.text == "waves");
}

TEST_CASE("private messages are addressed; notices, servers, ourselves and strange targets are nobody's messages") {
  irc_world w;
  w.in_channel();
  w.line(":Mia[a]!m@h PRIVMSG clanky :stop");
  w.line(":mia!m@h NOTICE clanky :stop");
  w.line(":irc.example PRIVMSG clanky :stop");
  w.line(":clanky!q@h PRIVMSG #dev :clanky: stop");
  w.line(":mia!m@h PRIVMSG other :stop");
  w.line(":mia!m@h PRIVMSG $* :stop");
  w.line(":mia!m@h PRIVMSG clanky");
  w.line("PRIVMSG clanky :stop");
  REQUIRE(w.received_messages.size() == 1);
  CHECK(w.received_messages[0].message.scope.text() == "irc/net/mia~5Ba~5D");
  CHECK(w.received_messages[0].message.addressed == true);
  CHECK(w.received_messages[0].message.author.name == "Mia[a]");
}

TEST_CASE("replies are lines at the pace of the channel, the first ones at once") {
  irc_world w;
  w.in_channel();
  std::string text;
  for (int i = 0; i < 12; ++i) text += "line " + std::to_string(i) + "\\n";
  w.answers(dev, 1, text);
  w.completes(dev, 1, text);
  CHECK(count_of(w.out, "PRIVMSG #dev :line") == 5);
  w.passes(2s);
  CHECK(count_of(w.out, "PRIVMSG #dev :line") == 6);
  w.passes(30s);
  CHECK(count_of(w.out, "PRIVMSG #dev :line") == 12);
}

TEST_CASE("a stop drops what was not sent, and the acknowledgement comes first") {
  irc_world w;
  w.in_channel();
  std::string text;
  for (int i = 0; i < 100; ++i) text += "old " + std::to_string(i) + "\\n";
  w.answers(dev, 1, text);
  w.passes(4s);
  const auto before = count_of(w.out, "old ");
  CHECK(before < 10);
  w.tells("message_decided", dev, {}, R"({"message":"m","id":"","decision":"cancel","why":"cancel_word"})");
  w.tells("acknowledgement", dev, {},
          R"({"message":"m","cancel":"c","text":"OK, I stopped the build.","reaction":null})");
  w.answers(dev, 1, "old tail");
  w.tells("turn_abort", dev, turn_number(1), R"({"reason":"user"})");
  w.passes(120s);
  CHECK(count_of(w.out, "old ") == before);
  CHECK(count_of(w.out, "PRIVMSG #dev :🛑 stopped OK, I stopped the build.") == 1);
}

TEST_CASE(
    "no line is longer than 512 bytes with our prefix in front, and none begins with quell's sign, whatever the text") {
  for (std::size_t host = 200; host < 217; ++host) { // the cuts come between other words each time
    irc_world w;
    w.registers();
    const std::string prefix = "clanky!~quell@" + std::string(host, 'h');
    w.line(":" + prefix + " JOIN #dev");
    w.sent();
    std::string text;
    for (int i = 0; i < 300; ++i) text += "wörter und 🛑 ";
    w.answers(dev, 1, text + std::string(2000, 'x'));
    w.completes(dev, 1, text + std::string(2000, 'x'));
    w.passes(600s);
    const auto sent = w.sent();
    std::size_t lines = 0;
    for (std::size_t at = 0; at < sent.size();) {
      const auto end = sent.find("\r\n", at) + 2;
      if (sent.compare(at, 8, "PRIVMSG ") == 0) {
        ++lines;
        CHECK(1 + prefix.size() + 1 + (end - at) <= 512);
      }
      at = end;
    }
    CHECK(lines > 20);
    CHECK(sent.find("PRIVMSG #dev :🛑") == std::string::npos);
  }
}

TEST_CASE("after a kick it comes back, later and later; what is to be said waits meanwhile") {
  irc_world w;
  w.in_channel();
  w.line(":op!o@h KICK #dev clanky :enough");
  CHECK(w.made.state().find("not in #Dev: kicked by op: enough") != std::string::npos);
  w.answers(dev, 1, "waits");
  w.completes(dev, 1, "waits");
  CHECK_FALSE(w.has_sent("JOIN"));
  CHECK_FALSE(w.has_sent("PRIVMSG"));
  w.passes(5s);
  CHECK(count_of(w.out, "JOIN #Dev\r\n") == 1);
  w.line(":s 474 clanky #dev :banned (+b)");
  w.passes(9s);
  CHECK(count_of(w.out, "JOIN #Dev\r\n") == 1);
  w.passes(2s);
  CHECK(count_of(w.out, "JOIN #Dev\r\n") == 2);
  w.joins();
  w.passes(5s);
  CHECK(w.has_sent("PRIVMSG #dev :waits"));
}

TEST_CASE("a silent server is asked, and left when it does not answer") {
  irc_world w;
  w.in_channel();
  w.passes(91s);
  CHECK(w.has_sent("PING :quell\r\n"));
  w.line(":s PONG s :quell");
  w.passes(91s);
  CHECK_FALSE(w.disconnect);
  w.passes(100s);
  REQUIRE(w.disconnect);
  CHECK(w.disconnect->why.find("silent") != std::string::npos);
}

TEST_CASE("a server that never finishes the registration is left") {
  irc_world w;
  w.connect();
  w.passes(59s);
  CHECK_FALSE(w.disconnect);
  w.passes(2s);
  CHECK(w.disconnect);
}

TEST_CASE("what was not said before the connection broke is said after it, and nothing twice") {
  irc_world w;
  w.in_channel();
  std::string text;
  for (int i = 0; i < 8; ++i) text += "line " + std::to_string(i) + "\\n";
  w.answers(dev, 1, text);
  w.completes(dev, 1, text);
  w.speaker.lost("cut", w.now);
  w.passes(10s);
  w.registers();
  w.joins();
  w.passes(60s);
  for (int i = 0; i < 8; ++i) CHECK(count_of(w.out, "PRIVMSG #dev :line " + std::to_string(i)) == 1);
}

TEST_CASE("a flood is bounded, and a stop in it still counts") {
  irc_world w;
  w.in_channel();
  for (int i = 0; i < 200; ++i) w.channel("clanky: " + std::to_string(i));
  CHECK(w.received_messages.size() == 64);
  w.channel("stop");
  CHECK(w.received_messages.size() == 65);
  CHECK(w.received_messages.back().message.text == "stop");
  w.passes(20s);
  CHECK(count_of(w.out, "Too many messages at once") <= 3);
  CHECK(w.has_sent("Too many messages at once"));
  w.decides(chat::decision{});
  w.channel("clanky: one more");
  CHECK(w.received_messages.size() == 65); // only cancels are accepted until enough messages are decided
}

TEST_CASE("what quelld does not take is said so") {
  irc_world w;
  w.in_channel();
  w.channel("clanky: hi");
  w.decides(failure(error_code::storage_unavailable, "the disk is almost full"));
  CHECK(w.has_sent("PRIVMSG #dev :Not taken: the disk is almost full"));
}

TEST_CASE("CTCP is answered slowly and only what it knows") {
  irc_world w;
  w.in_channel();
  for (int i = 0; i < 50; ++i) w.line(":mia!m@h PRIVMSG clanky :\x01VERSION\x01");
  CHECK(count_of(w.out, "NOTICE mia :\x01VERSION quell\x01") == 2);
  w.passes(20s);
  w.line(":mia!m@h PRIVMSG clanky :\x01PING 12 34\x01");
  w.line(":mia!m@h PRIVMSG clanky :\x01"
         "DCC SEND x\x01");
  CHECK(w.has_sent("NOTICE mia :\x01PING 12 34\x01"));
  CHECK(w.received_messages.empty());
}

TEST_CASE("a call that waits is asked about in text and answered by the end of its id") {
  irc_world w;
  w.in_channel();
  const auto call = turn_number(7);
  w.answers(dev, 1, "let me see");
  w.tells("approval_required", dev, turn_number(1),
          R"({"operation":")" + call.text() + R"(","name":"exec","input":{"cmd":"make"},"rule":"exec"})");
  const auto tail = call.text().substr(28);
  CHECK(w.has_sent("approve " + tail));
  w.line(":mia!m@h PRIVMSG clanky :approve " + tail); // not the place of the question
  CHECK(w.approvals.empty());
  w.channel("clanky: approve " + tail);
  REQUIRE(w.approvals.size() == 1);
  CHECK(w.approvals[0].order.call == call);
  CHECK(w.approvals[0].order.scope.text() == dev);
  CHECK(w.approvals[0].order.approved);
  CHECK(w.approvals[0].order.by.name == "mia");
  CHECK(w.approvals[0].order.by.account.empty()); // anyone can take a nick
}

TEST_CASE("a text of the server or of a person never becomes a line of ours") {
  irc_world w;
  w.in_channel();
  w.answers(dev, 1, R"(a\r\nQUIT :bye\u0000b\u0001c)");
  w.completes(dev, 1, R"(a\r\nQUIT :bye\u0000b\u0001c)");
  w.passes(10s);
  CHECK(w.has_sent("PRIVMSG #dev :a\r\n"));
  CHECK(w.has_sent("PRIVMSG #dev :QUIT :bye"));
  CHECK(count_of(w.out, "\r\nQUIT") == 0);
  CHECK(w.out.find('\0') == std::string::npos);
}

TEST_CASE("directly it is spoken to by admitted accounts only, as the network tells them") {
  auto settings = usual();
  settings.users = {"mia"};
  irc_world w(settings);
  const bool knows = GENERATE(true, false);
  w.connect();
  w.line(":s CAP * LS :message-tags account-tag");
  CHECK(w.has_sent("CAP REQ :message-tags account-tag"));
  w.line(knows ? ":s CAP * ACK :message-tags account-tag" : ":s CAP * ACK :message-tags");
  w.line(":s 001 clanky :Welcome");
  w.line(":s 376 clanky :End of MOTD");
  w.line(":mia!m@h PRIVMSG clanky :I only call myself mia");
  w.line("@account=kim :mia!m@h PRIVMSG clanky :I am kim");
  CHECK(w.received_messages.empty());
  w.line("@account=mia :other!m@h PRIVMSG clanky :hello");
  REQUIRE(w.received_messages.size() == (knows ? 1U : 0U)); // a tag that was not negotiated is ignored
  if (knows) CHECK(w.received_messages[0].message.author.account == "mia");
}
