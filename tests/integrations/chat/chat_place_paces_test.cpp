// Each place has a pace of its own for refusals that are told there.
#include "integrations/chat/place_paces.hpp"
#include "tests/integrations/chat/xmpp/chat_xmpp_world.hpp"

using namespace quell;
using namespace quell::testing;
using quell::integrations::chat::place_paces;

TEST_CASE("a place's pace takes nothing from another's", "[chat]") {
  place_paces paces({10s, 3});
  boot_time now{1'000'000'000};
  for (int i = 0; i < 3; ++i) CHECK(paces.take("a", now));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(paces.take("a", now)); // what was not done counts for nothing
  CHECK(paces.take("b", now));
  now = now + 10s;
  CHECK(paces.take("a", now));
  CHECK_FALSE(paces.take("a", now));
}

TEST_CASE("the places with a pace are bounded, and who is busy stays known", "[chat]") {
  place_paces paces({10s, 3});
  boot_time now{1'000'000'000};
  for (int i = 0; i < 3; ++i) CHECK(paces.take("busy", now));
  for (int i = 0; i < 2000; ++i) {
    now = now + 1ms;
    CHECK(paces.take("once/" + std::to_string(i), now));
  }
  CHECK(paces.size() == 256);
  CHECK_FALSE(paces.take("busy", now));
}

TEST_CASE("who is refused over and over in one place silences no other", "[chat]") {
  xmpp_world w;
  w.in_room();
  const auto refused = [&w](const std::string& why) { w.decides(failure(error_code::storage_unavailable, why)); };
  for (int i = 0; i < 20; ++i) {
    w.room("clanky: " + std::to_string(i));
    refused("refused in the room");
  }
  w.chats("hello");
  refused("refused directly");
  w.passes(20s);
  CHECK(count_of(w.out, "Not taken: refused in the room") == 3);
  CHECK(count_of(w.out, "Not taken: refused directly") == 1);
}
