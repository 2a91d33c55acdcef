// Short ids, query strings, event streams, output lines and log ranges.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/backoff.hpp"
#include "cli/cancel_request.hpp"
#include "cli/event_stream.hpp"
#include "cli/fields.hpp"
#include "cli/log_range.hpp"
#include "cli/output_line.hpp"
#include "cli/short_id.hpp"
#include "cli/turn_view.hpp"
#include "cli/url.hpp"
#include "protocol/base64.hpp"

using namespace quell;
using namespace quell::cli;

namespace {
const std::string a = "01a1f869-3df9-7303-8207-dde70bee07dd", b = "01a1f869-3df9-7303-8207-dde70bee17dd";
}

TEST_CASE("a short id is the tail, and a tail must have four digits") {
  CHECK(short_id(a) == "0bee07dd");
  CHECK(is_id_tail("07dd"));
  CHECK_FALSE(is_id_tail("7dd"));
  CHECK_FALSE(is_id_tail("-7dd"));
  CHECK_FALSE(is_id_tail("07DD"));
  CHECK_FALSE(is_id_tail("team"));
  CHECK(matching_ids({a, b, a}, "7dd") == std::vector<std::string>{a, b});
  CHECK(matching_ids({a, b}, "07dd") == std::vector<std::string>{a});
  CHECK(matching_ids({a, b}, "8207dde70bee07dd") == std::vector<std::string>{a});
  CHECK(is_whole_id(a));
  CHECK_FALSE(is_whole_id("01a1f869-3df9-4303-8207-dde70bee07dd"));
}

TEST_CASE("scopes travel encoded in query strings") {
  CHECK(with_query("/v1/x", {{"scope", "a/b+c d"}, {"none", ""}, {"k", "1"}}) == "/v1/x?scope=a%2Fb%2Bc%20d&k=1");
  CHECK(with_query("/v1/x?y=1", {{"z", "2"}}) == "/v1/x?y=1&z=2");
  CHECK(base_address("http://h:1//") == "http://h:1");
  for (const char* bad : {"", "h:1", "ftp://h", "http://", "http:///x", "http://h\r\nX: y", "http://h?x"})
    CHECK(base_address(bad).empty());
}

TEST_CASE("an event stream is read whole however it is cut") {
  const std::string text = "retry: 1000\n\n: hello\n\nid: 7\nevent: output\ndata: {\"a\":\ndata: 1}\n\nid: 8\r\ndata: "
                           "x\r\n\r\ndata: unfinished\n";
  for (std::size_t step = 1; step < text.size(); ++step) {
    std::vector<stream_event> got;
    event_parser parser([&](const stream_event& e) { got.push_back(e); });
    for (std::size_t i = 0; i < text.size(); i += step) REQUIRE(parser.feed(std::string_view(text).substr(i, step)));
    REQUIRE(got.size() == 2);
    CHECK(got[0].type == "output");
    CHECK(got[0].data == "{\"a\":\n1}");
    CHECK(got[1].data == "x");
    CHECK(parser.last_id() == "8");
  }
}

TEST_CASE("bytes that are not text travel as base64, and a cut character is held back") {
  CHECK(output_line("o", "stdout", 3, "hällo")["text"] == "hällo");
  CHECK(output_line("o", "stdout", 3, "\xff\x00z")["base64"] == base64("\xff"));
  CHECK(base64("M") == "TQ==");
  CHECK(base64("Man") == "TWFu");
  CHECK(from_base64(base64("any \xff bytes")) == "any \xff bytes");
  CHECK(cut_character("a\xc3") == 1);
  CHECK(cut_character("a\xf0\x9f\x98") == 3);
  CHECK(cut_character("a\xf0\x9f\x98\x80") == 0);
  CHECK(cut_character("\x80\x80\x80\x80") == 0);
}

TEST_CASE("the last lines begin where they begin") {
  const std::string text = "one\ntwo\nthree\n";
  CHECK(text.substr(last_lines(text, 1)) == "three\n");
  CHECK(text.substr(last_lines(text, 2)) == "two\nthree\n");
  CHECK(last_lines(text, 3) == std::string::npos);
  CHECK(last_lines(text, 0) == text.size());
  CHECK(std::string("a\nb").substr(last_lines("a\nb", 1)) == "b");
  CHECK(last_lines("", 1) == std::string::npos);
}

TEST_CASE("the pauses grow, and the window is measured from the first loss") {
  using namespace std::chrono_literals;
  backoff contact(milliseconds{1000});
  const std::chrono::steady_clock::time_point start{};
  CHECK(contact.lost(start) == milliseconds{100});
  CHECK(contact.lost(start + 100ms) == milliseconds{200});
  CHECK_FALSE(contact.lost(start + 1000ms));
  contact.contact();
  CHECK(contact.lost(start + 1100ms) == milliseconds{100});
}

TEST_CASE("each named operation is one cancel with an id of its own, and a dry run has none") {
  cancel_options o;
  o.kill = true;
  int n = 0;
  const auto fresh = [&n] { return "id" + std::to_string(n++); };
  const auto bodies = cancel_requests(o, {a, b}, fresh);
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0]["operation"] == a);
  CHECK(bodies[1]["id"] == "id1");
  CHECK(bodies[0]["grace_ms"] == 0);
  CHECK_FALSE(bodies[0].contains("up_to_seq"));
  o.up_to_seq = 7;
  CHECK(cancel_requests(o, {a, b}, fresh)[1]["up_to_seq"] == 7);
  o.dry_run = true;
  o.scope = "team";
  const auto dry = cancel_requests(o, {}, fresh);
  CHECK(dry.at(0)["scope"] == "team");
  CHECK_FALSE(dry.at(0).contains("id"));
  o.owner = "alice";
  CHECK(cancel_requests(o, {}, fresh).size() == 1);
}

TEST_CASE("an event of a type that this program does not know is read as that, and has no words") {
  using nlohmann::json;
  const json data{{"text", "rain"}};
  CHECK(type_of({{"type", "text_delta"}, {"data", data}}) == event_type::text_delta);
  CHECK(event_words({{"type", "text_delta"}, {"data", data}}) == "  rain");
  for (const json& strange :
       {json{{"type", "weather"}, {"data", data}}, json{{"type", 7}}, json{{"data", data}}, json()}) {
    CHECK(type_of(strange) == event_type::unlisted);
    CHECK(event_words(strange).empty());
  }
}
