// Addresses, heads and answers as text; no sockets.
#include "cli/http/answer_parser.hpp"

#include <catch2/catch.hpp>

#include "cli/http/address.hpp"

using namespace quell::cli;

namespace {

struct reading {
  std::string body;
  http_head head;
  std::string error;
  bool is_whole = false, may_follow = false;
  std::size_t used = 0;
};

/// Feeds `text` in steps of `step` bytes, as a connection would.
reading read_in_steps(std::string_view text, std::size_t step, answer_parser::body b = answer_parser::body::expected) {
  answer_parser parser(b);
  reading out;
  std::string arrived;
  for (std::size_t at = 0; at < text.size() && parser.error().empty() && !parser.is_whole(); at += step) {
    arrived += text.substr(at, step);
    std::vector<std::string_view> pieces;
    const auto used = parser.feed(arrived, pieces);
    for (const auto piece : pieces) out.body += piece;
    arrived.erase(0, used);
    out.used += used;
  }
  if (out.used == text.size() && !parser.is_whole()) parser.end_of_stream();
  out.head = parser.head_with_trailers();
  out.error = parser.error();
  out.is_whole = parser.is_whole();
  out.may_follow = parser.may_follow();
  return out;
}

constexpr std::string_view chunked = "HTTP/1.1 100 Continue\r\n\r\n"
                                     "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nQuell-Offset:  17 \r\n\r\n"
                                     "4;note=1\r\nWiki\r\n5\r\npedia\r\n0\r\nQuell-End: true\r\n\r\n";

} // namespace

TEST_CASE("an answer in chunks is read whatever the network makes of it") {
  for (const std::size_t step : {1UL, 2UL, 3UL, 7UL, 50UL, 10'000UL}) {
    CAPTURE(step);
    const auto got = read_in_steps(chunked, step);
    CHECK(got.error == "");
    CHECK(got.is_whole);
    CHECK(got.may_follow);
    CHECK(got.body == "Wikipedia");
    CHECK(got.head.status == 200);
    CHECK(got.head.headers.at("quell-offset") == "17");
    CHECK(got.head.headers.at("quell-end") == "true");
    CHECK_FALSE(got.head.headers.contains("link"));
  }
}

TEST_CASE("an answer in no or small chunks is read byte by byte, and each byte at once") {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view body : {"0\r\n\r\n", "0\r\nQuell-End: true\r\n\r\n", "1\r\nx\r\n0\r\n\r\n"})
    for (std::size_t step = 1; step < 12; ++step) {
      CAPTURE(body, step);
      const auto got = read_in_steps(head + std::string(body), step);
      CHECK(got.error == "");
      CHECK(got.is_whole);
    }
  answer_parser parser;
  std::vector<std::string_view> pieces;
  const std::string text = head + "1\r\nx\r\n1\r\ny";
  CHECK(parser.feed(text, pieces) == text.size());
  CHECK(pieces == std::vector<std::string_view>{"x", "y"});
}

TEST_CASE("damaged answers are refused or read, and never fell the reader") {
  std::uint32_t dice = 1;
  const auto roll = [&dice](std::size_t below) {
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % below;
  };
  std::size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(i % 2 ? chunked
                           : "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nX: y\r\n z\r\n\r\n12345678901234567890");
    for (std::size_t changes = roll(4); changes > 0; --changes) {
      const auto at = roll(text.size());
      if (roll(3) == 0)
        text.erase(at, 1 + roll(5));
      else if (roll(2) == 0)
        text.insert(at, std::string_view("\r\n0;: ~\xFF").substr(roll(8), 1));
      else
        text[at] = static_cast<char>(roll(256));
    }
    const auto got = read_in_steps(text, 1 + roll(40));
    CHECK((got.is_whole || !got.error.empty() || got.used < text.size()));
    refused += got.error.empty() ? 0 : 1;
  }
  CHECK(refused > 1000);
}

TEST_CASE("what follows an answer is left alone") {
  const std::string one = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const auto got = read_in_steps(one + "HTTP/1.1 500", 10'000);
  CHECK(got.body == "ok");
  CHECK(got.used == one.size());
}

TEST_CASE("the end of the stream ends an answer without a length, and cuts every other one") {
  const auto open = read_in_steps("HTTP/1.1 200 OK\r\n\r\nall of it", 4);
  CHECK(open.is_whole);
  CHECK(open.body == "all of it");
  CHECK_FALSE(open.may_follow);
  for (const std::string_view cut : {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour", "HTTP/1.1 200 OK\r\nConte",
                                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n"}) {
    const auto got = read_in_steps(cut, 10'000);
    CHECK_FALSE(got.is_whole);
    CHECK(got.used < cut.size() + 1);
  }
  answer_parser nothing;
  nothing.end_of_stream();
  CHECK(nothing.error() == "the connection ended without an answer");
}

TEST_CASE("a connection is kept only if the server says so") {
  CHECK(read_in_steps("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 99).may_follow);
  CHECK_FALSE(read_in_steps("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 99).may_follow);
  CHECK_FALSE(read_in_steps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 99).may_follow);
  CHECK(read_in_steps("HTTP/1.1 204 No\r\n\r\n", 99).may_follow);
  CHECK(read_in_steps("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 99, answer_parser::body::none).is_whole);
}

TEST_CASE("an answer that is none, or too large, is an error in words") {
  CHECK(read_in_steps("SSH-2.0-OpenSSH\r\n\r\n", 99).error.starts_with("the answer is not HTTP/1.1"));
  CHECK(read_in_steps("HTTP/1.1 101 Switching\r\n\r\n", 99).error.find("101") != std::string::npos);
  std::string interim;
  for (int i = 0; i < 50; ++i) interim += "HTTP/1.1 102 Wait\r\n\r\n";
  CHECK(read_in_steps(interim, 64).error.find("102") != std::string::npos);
  const std::string large = "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n";
  for (const std::size_t step : {16'384UL, 100'000UL})
    CHECK(read_in_steps(large, step).error == "the head of the answer is larger than 64 KiB");
  const std::string line =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;" + std::string(200'000, 'x') + "\r\nWiki";
  CHECK(read_in_steps(line, 16'384).error != "");
}

TEST_CASE("no more than 100 headers are kept, and of each the last value") {
  std::string many = "HTTP/1.1 200 OK\r\nFirst: 1\r\nFirst: 2\r\nContent-Length: 0\r\n";
  for (int i = 0; i < 500; ++i) many += "H" + std::to_string(i) + ": x\r\n";
  const auto got = read_in_steps(many + "\r\n", 1000);
  CHECK(got.is_whole);
  CHECK(got.head.headers.size() == 100);
  CHECK(got.head.headers.at("first") == "2");
}

TEST_CASE("the parts of an address") {
  const auto plain = parse_address("http://host:7710/v1/operations?x=1#part");
  REQUIRE(plain);
  CHECK(*plain == web_address{false, "host", "", "7710", "host:7710", "/v1/operations?x=1"});
  CHECK(*parse_address("https://host") == web_address{true, "host", "", "443", "host", "/"});
  CHECK(*parse_address("http://host?q") == web_address{false, "host", "", "80", "host", "/?q"});
  CHECK(*parse_address("http://[::1]:1/") == web_address{false, "::1", "", "1", "[::1]:1", "/"});
  CHECK(*parse_address("http://[fe80::1%25eth0]:1/") == web_address{false, "fe80::1", "eth0", "1", "[fe80::1]:1", "/"});
  for (const char* bad : {"", "host:1", "ftp://host/", "http://", "http://:80/", "http://host:/", "http://host:0/",
                          "http://host:65536/", "http://host:80x/", "http://[::1/", "http://[::1]x/", "http://a b/",
                          "http://a/\r\nX: y", "http://b\xC3\xBCro/"}) {
    CAPTURE(bad);
    const auto a = parse_address(bad);
    REQUIRE_FALSE(a);
    CHECK(a.error() != "");
  }
  const auto secret = parse_address("https://user:secret@host/");
  REQUIRE_FALSE(secret);
  CHECK(secret.error().find("secret") == std::string::npos);
}

TEST_CASE("a head says what is sent, and no header smuggles another") {
  http_request r;
  r.method = "POST";
  r.body = "{}";
  r.headers = {"Authorization: Bearer t", "accept: application/json"};
  const auto head = request_head(r, *parse_address("http://h:1/v1/cancels"));
  REQUIRE(head);
  CHECK(head->starts_with("POST /v1/cancels HTTP/1.1\r\nHost: h:1\r\nUser-Agent: quell-cli/"));
  CHECK(head->find("Accept: */*") == std::string::npos);
  CHECK(head->ends_with("Content-Length: 2\r\n\r\n"));
  CHECK(request_head({}, {})->find("Content-Length") == std::string::npos);
  r.headers = {"Authorization: Bearer t\r\nX: y"};
  const auto refused = request_head(r, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == "the value of the header Authorization holds a line break");
}
