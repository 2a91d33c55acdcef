// The text that a Stop button may drop at once: the text of a turn that has begun where it was pressed.
#include "integrations/chat/begun_turns.hpp"

#include <catch2/catch.hpp>

using namespace quell;
using namespace quell::integrations::chat;

TEST_CASE("a turn is known at the place where it began, and nowhere else", "[chat]") {
  begun_turns begun;
  const auto turn = operation_id::fresh(), resumed = operation_id::fresh(), other = operation_id::fresh();
  const auto here = *scope_path::parse("discord/9/7"), elsewhere = *scope_path::parse("discord/10/7");
  begun.hear({1, event_type::turn_start, here, turn, turn, "{}"});
  begun.hear({2, event_type::turn_resumed, here, resumed, resumed, "{}"});
  begun.hear({3, event_type::turn_complete, here, other, other, "{}"});
  begun.hear({4, event_type::turn_start, here, {}, {}, "{}"});
  CHECK(begun.is_at(here, turn));
  CHECK(begun.is_at(here, resumed));
  CHECK_FALSE(begun.is_at(here, other));
  CHECK_FALSE(begun.is_at(elsewhere, turn));
  CHECK_FALSE(begun.is_at(*scope_path::parse("discord/9"), turn));
}

TEST_CASE("only the newest turns are known", "[chat]") {
  begun_turns begun;
  const auto here = *scope_path::parse("slack/T/C");
  const auto first = operation_id::fresh();
  begun.hear({1, event_type::turn_start, here, first, first, "{}"});
  for (std::uint64_t i = 2; i < 5'002; ++i) {
    const auto next = operation_id::fresh();
    begun.hear({i, event_type::turn_start, here, next, next, "{}"});
  }
  CHECK_FALSE(begun.is_at(here, first));
}
