// Which channels' missed messages are fetched when.
#include <catch2/catch.hpp>

#include "integrations/chat/discord/history_queue.hpp"

using namespace quell;
using namespace quell::integrations::chat::discord;

TEST_CASE("few channels are read at once, and those first in which somebody waits", "[discord]") {
  history_queue q;
  for (int i = 0; i < 6; ++i) q.add({std::to_string(i), "1"});
  q.hurry("5");
  q.hurry("unknown");
  std::string begun;
  while (const auto next = q.next()) begun += next->place;
  CHECK(begun == "5012");
  q.ended();
  q.add_first({"5", "2"}); // its next page
  CHECK(q.next()->place == "5");
  CHECK_FALSE(q.may_begin());
  CHECK_FALSE(q.next());
  for (int i = 0; i < 4; ++i) q.ended();
  CHECK(q.may_begin());
  CHECK(q.next()->place == "3");
  CHECK(q.next()->place == "4");
  CHECK_FALSE(q.may_begin());
  CHECK_FALSE(q.next());
}

TEST_CASE("a channel waits once, and can be hurried as often as somebody writes there", "[discord]") {
  history_queue q;
  for (const auto* place : {"a", "b", "c"}) q.add({place, "1"});
  q.add({"b", "2"});
  q.hurry("c");
  q.hurry("b");
  q.hurry("b");
  std::string begun;
  while (const auto next = q.next()) begun += next->place + next->after;
  CHECK(begun == "b1c1a1");
  q.hurry("b"); // it is under way
  CHECK_FALSE(q.may_begin());
}
