// Which channels' missed messages are fetched when.
#include <catch2/catch.hpp>

#include "integrations/chat/discord/history_queue.hpp"

using namespace quell;
using namespace quell::integrations::chat::discord;

TEST_CASE("few channels are read at once, and those first in which somebody waits", "[discord]") {
  history_queue q;
  const boot_time now{1'000'000'000};
  for (int i = 0; i < 6; ++i) q.add({std::to_string(i), "1"});
  q.hurry("5");
  q.hurry("unknown");
  std::string begun;
  while (const auto next = q.next(now)) begun += next->place;
  CHECK(begun == "5012");
  q.ended();
  q.add_first({"5", "2"}); // its next page
  CHECK(q.next(now)->place == "5");
  CHECK_FALSE(q.next(now));
  for (int i = 0; i < 4; ++i) q.ended();
  CHECK(q.next(now)->place == "3");
  CHECK(q.next(now)->place == "4");
  CHECK_FALSE(q.next(now));
  CHECK_FALSE(q.next_at(now));
}

TEST_CASE("a service that asks for patience gets it for all channels", "[discord]") {
  history_queue q;
  const boot_time now{1'000'000'000};
  q.add({"a", "1"});
  q.pause(now + milliseconds{50});
  q.pause(now + milliseconds{20});
  CHECK_FALSE(q.next(now));
  CHECK(q.next_at(now) == now + milliseconds{50});
  CHECK(q.next(now + milliseconds{50})->place == "a");
  CHECK_FALSE(q.next_at(now));
}
