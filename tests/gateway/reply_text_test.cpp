// The head of an answer as text.
#include "gateway/reply_text.hpp"

#include <catch2/catch.hpp>

#include "tests/gateway/world.hpp"

using namespace quell::controller::http;
using namespace quell::controller::test;
using std::chrono::seconds;
using std::chrono::sys_seconds;

TEST_CASE("a date is written as HTTP wants it") {
  CHECK(http_date(sys_seconds{seconds{784'111'777}}) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(http_date(sys_seconds{seconds{0}}) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(http_date(sys_seconds{seconds{1'709'251'199}}) == "Thu, 29 Feb 2024 23:59:59 GMT");
}

TEST_CASE("every answer says when it was written, once") {
  for (const auto form : {body_form::sized, body_form::chunked, body_form::until_close}) {
    response answer;
    answer.status = 200;
    const auto head = reply_head(answer, form, sys_seconds{seconds{784'111'777}});
    CHECK(head.find("\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n") != std::string::npos);
    CHECK(head.find("Date:") == head.rfind("Date:"));
    CHECK(head.substr(head.size() - 4) == "\r\n\r\n");
  }
  gateway_world world;
  const auto date = world.ask("GET", "/readyz", {}).header("date");
  CHECK(date.size() == 29);
  CHECK(date.substr(25) == " GMT");
}
