// Fields of request heads as handlers see them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "gateway/head_fields.hpp"

using namespace quell::controller::http;
namespace wire = boost::beast::http;

TEST_CASE("fields are found in any spelling of their names, and the first of a name counts") {
  parsed_message from(wire::verb::post, "/v1/chat/slack?a=%20b", 11);
  from.insert("AUTHORIZATION", "Bearer one");
  from.insert("authorization", "Bearer two");
  from.insert("last-event-id", "7");
  from.insert("QUELL-CHANNEL", "cli");
  from.insert("X-Quell-Scope", "team");
  from.insert("A2A-version", "1.0");
  from.insert("Host", "quell.example:7710");
  from.insert("If-None-Match", "\"x\"");
  from.insert("X-Other", "nothing");
  request into;
  take_fields(from, into);
  CHECK(into.method == "POST");
  CHECK(into.authorization == "Bearer one");
  CHECK(into.last_event_id == "7");
  CHECK(into.channel == "cli");
  CHECK(into.quell_scope == "team");
  CHECK(into.a2a_version == "1.0");
  CHECK(into.host == "quell.example:7710");
  CHECK(into.if_none_match == "\"x\"");
  CHECK(into.accept.empty());
  CHECK(into.headers.empty());
  take_whole(from, into);
  CHECK(into.raw_query == "a=%20b");
  REQUIRE(into.headers.size() == 9);
  CHECK(std::count(into.headers.begin(), into.headers.end(), name_value{"authorization", "Bearer two"}) == 1);
  CHECK(std::count(into.headers.begin(), into.headers.end(), name_value{"x-other", "nothing"}) == 1);
}

TEST_CASE("an empty first field hides a second one") {
  parsed_message from(wire::verb::get, "/", 11);
  from.insert("Authorization", "");
  from.insert("Authorization", "Bearer two");
  request into;
  take_fields(from, into);
  CHECK(into.authorization.empty());
}

TEST_CASE("what makes a head ambiguous is all there") {
  parsed_message from(wire::verb::post, "/", 11);
  from.insert("Host", "a");
  from.insert("host", "b");
  from.insert("Transfer-Encoding", "chunked");
  from.insert("Content-Length", "1");
  from.insert("content-length", "2");
  const auto head = head_of(from);
  CHECK(head.hosts == std::vector<std::string>{"a", "b"});
  CHECK(head.encodings == std::vector<std::string>{"chunked"});
  CHECK(head.lengths == 2);
}
