// Streams of XMPP: read in any pieces, within limits, and written so that no text becomes markup.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "integrations/chat/xmpp/jid.hpp"
#include "integrations/chat/xmpp/stream_reader.hpp"

using namespace quell;
using namespace quell::integrations::chat::xmpp;

namespace {

const std::string opening = "<?xml version='1.0'?><stream:stream xmlns:stream='http://etherx.jabber.org/streams' "
                            "xmlns='jabber:component:accept' id='3BF96D32' from='bot.example'>";

std::vector<stream_event> fed(stream_reader& reader, const std::string& bytes, std::size_t piece) {
  std::vector<stream_event> all;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    for (auto& e : reader.feed(std::string_view(bytes).substr(at, piece))) all.push_back(std::move(e));
  return all;
}

std::string faulty(const std::string& bytes, stream_limits limits = {}) {
  stream_reader reader(limits);
  reader.feed(bytes);
  return reader.fault();
}

} // namespace

TEST_CASE("a stream is the same in whatever pieces it comes") {
  const auto bytes = opening + "<handshake/> \n<message from='a@b/c' x:id='no' xmlns:x='u' id='1'><body>a &lt;b&gt; "
                               "&amp; ö</body><x xmlns='y'/></message></stream:stream>";
  for (const std::size_t piece : {1, 2, 7, 100000}) {
    stream_reader reader;
    const auto all = fed(reader, bytes, piece);
    CAPTURE(piece, reader.fault());
    REQUIRE(all.size() == 4);
    CHECK(std::get<stream_opened>(all[0]).id == "3BF96D32");
    CHECK(std::get<element>(all[1]).name == "handshake");
    const auto& message = std::get<element>(all[2]);
    CHECK(message.space == "jabber:component:accept");
    CHECK(message.attribute("id") == "1");
    CHECK(message.attribute("from") == "a@b/c");
    REQUIRE(message.child("body"));
    CHECK(message.child("body")->text == "a <b> & ö");
    CHECK(message.child("x", "y"));
    CHECK_FALSE(message.child("x", "z"));
    CHECK(std::holds_alternative<stream_closed>(all[3]));
    CHECK(reader.fault().empty());
  }
}

TEST_CASE("document types, entities and other XML that XMPP has not are refused") {
  CHECK(faulty("<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaa'>]>" + opening.substr(21)).find("document type") !=
        std::string::npos);
  CHECK(faulty(opening + "<message>&lol;</message>").find("broken") != std::string::npos);
  CHECK(faulty(opening + "<a></b>").find("broken") != std::string::npos);
  CHECK(faulty("HTTP/1.1 400 Bad Request\r\n\r\n").find("broken") != std::string::npos);
  CHECK(faulty("<html>").find("not an XMPP server") != std::string::npos);
  CHECK(faulty(opening + "<message>\x80</message>").find("broken") != std::string::npos);
}

TEST_CASE("stanzas are bounded in bytes, depth, elements and attributes") {
  std::string deep, wide, attributes = "<a";
  for (int i = 0; i < 30; ++i) deep += "<a>";
  for (int i = 0; i < 2100; ++i) wide += "<a/>";
  for (int i = 0; i < 70; ++i) attributes += " a" + std::to_string(i) + "='1'";
  CHECK(faulty(opening + deep).find("nested") != std::string::npos);
  CHECK(faulty(opening + "<a>" + wide).find("elements") != std::string::npos);
  CHECK(faulty(opening + attributes + "/>").find("attributes") != std::string::npos);
  CHECK(faulty(opening + "<a>" + std::string(300 << 10, 'x')).find("larger") != std::string::npos);
  CHECK(faulty(opening + "<a b='" + std::string(300 << 10, 'x')).find("larger") != std::string::npos);
  CHECK(faulty("<" + std::string(20 << 10, 'x')).find("does not begin") != std::string::npos);
  CHECK(faulty(opening + std::string(600 << 10, ' ') + "<a/>").empty());
}

TEST_CASE("a long stream goes through many parsers and loses nothing") {
  std::string bytes = opening;
  for (int i = 0; i < 500; ++i)
    bytes += "<message n" + std::to_string(i) + "='x' id='" + std::to_string(i) + "'><body>ö&amp;" +
             std::string(static_cast<std::size_t>(i % 37), 'y') + "</body></message>" + (i % 3 == 0 ? "<a/> " : "");
  for (const std::size_t piece : {1, 13, 1000, 1000000}) {
    stream_limits limits;
    limits.parser_bytes = 700;
    stream_reader reader(limits);
    int next = 0;
    for (const auto& e : fed(reader, bytes, piece))
      if (const auto* s = std::get_if<element>(&e); s && s->name == "message") {
        CHECK(s->attribute("id") == std::to_string(next));
        CHECK(s->child("body")->text == "ö&" + std::string(static_cast<std::size_t>(next % 37), 'y'));
        ++next;
      }
    CAPTURE(piece);
    CHECK(reader.fault() == "");
    CHECK(next == 500);
  }
}

TEST_CASE("any text survives the way through XML, but for what XML cannot hold") {
  REQUIRE(rc::check("written and read", [](const std::string& text) {
    stream_reader reader;
    reader.feed(opening);
    const auto all = reader.feed("<a" + with("b", text) + ">" + escaped(text) + "</a>");
    RC_ASSERT(reader.fault().empty());
    RC_ASSERT(all.size() == 1);
    const auto& e = std::get<element>(all[0]);
    RC_ASSERT(e.children.empty());
    RC_ASSERT(e.attributes.size() == 1U);
  }));
  CHECK(escaped("<a b='c'>&\"\x01\xEF\xBF\xBF") == "&lt;a b=&apos;c&apos;&gt;&amp;&quot;\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("addresses and their scopes") {
  const auto j = read_jid("Mia@Example.org/Laptop 1");
  REQUIRE(j);
  CHECK(j->bare == "mia@example.org");
  CHECK(j->resource == "Laptop 1");
  CHECK(j->domain() == "example.org");
  CHECK(j->full() == "mia@example.org/Laptop 1");
  for (const char* text : {"", "@b", "a@", "a@b/", "a b@c", "a@b\n", "a'@b", "a@b@c", "/x"})
    CHECK_FALSE(read_jid(text));
  CHECK(scope_of_jid("dev@rooms.example")->text() == "xmpp/dev@rooms.example");
  CHECK(jid_of_scope(*scope_path::parse("xmpp/dev@rooms.example/deeper")) == "dev@rooms.example");
  CHECK_FALSE(jid_of_scope(*scope_path::parse("xmpp")));
  CHECK_FALSE(jid_of_scope(*scope_path::parse("xmpp/a~27@b")));
  CHECK_FALSE(jid_of_scope(*scope_path::parse("irc/a@b")));
}

TEST_CASE("the handshake is SHA-1 in small hex digits") {
  CHECK(sha1_hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
}
