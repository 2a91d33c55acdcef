// What is said at a place reaches quelld in its order, where ids could mix it up, and at once where they cannot.
#include <catch2/catch.hpp>

#include "integrations/chat/said_in_order.hpp"

using namespace quell;
using namespace quell::integrations::chat;

namespace {

heard_message heard(std::uint64_t mark, const std::string& scope, const std::string& id) {
  heard_message m;
  m.mark = mark;
  m.message.scope = *scope_path::parse(scope);
  m.message.id = id;
  return m;
}

} // namespace

TEST_CASE("messages without ids go at once") {
  said_in_order order;
  CHECK(order.next(heard(1, "irc/a/b", "")));
  CHECK(order.next(heard(2, "irc/a/b", "")));
  CHECK_FALSE(order.decided(1));
  CHECK_FALSE(order.decided(2));
  CHECK_FALSE(order.decided(2));
}

TEST_CASE("a message with an id, and what follows it there, waits for those before it") {
  said_in_order order;
  CHECK(order.next(heard(1, "irc/a/b", "x")));
  CHECK_FALSE(order.next(heard(2, "irc/a/b", "")));
  CHECK_FALSE(order.next(heard(3, "irc/a/b", "y")));
  CHECK(order.next(heard(4, "irc/a/c", "z"))); // elsewhere
  auto next = order.decided(1);
  REQUIRE(next);
  CHECK(next->mark == 2);
  next = order.decided(2);
  REQUIRE(next);
  CHECK(next->mark == 3);
  CHECK_FALSE(order.decided(3));
  CHECK(order.next(heard(5, "irc/a/b", "x")));
}

TEST_CASE("a message with an id waits for one without") {
  said_in_order order;
  CHECK(order.next(heard(1, "irc/a/b", "")));
  CHECK(order.next(heard(2, "irc/a/b", "")));
  CHECK_FALSE(order.next(heard(3, "irc/a/b", "x")));
  CHECK_FALSE(order.decided(1));
  const auto next = order.decided(2);
  REQUIRE(next);
  CHECK(next->mark == 3);
}
