// The journal counts the changes of operations' rows before it reports their commit.
#include <catch2/catch.hpp>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

TEST_CASE("each change of an operation's row is counted before its notice") {
  temp_directory directory{"/dev/shm"};
  const auto changes = std::make_shared<controller::row_changes>();
  journal::options o{.directory = directory.path()};
  o.changes = changes;
  store s(o);
  const auto one = operation(1, "team/a"), two = operation(2, "team/a");
  REQUIRE_FALSE(s.write({reserve_seq{100}, put_operation{one}, put_operation{two}}));
  const auto before = changes->of(one.id);
  REQUIRE_FALSE(s.write({ended(one, 50)}));
  const auto after_end = changes->of(one.id);
  CHECK(after_end != before);
  REQUIRE_FALSE(s.write({records::put_late{one.id, "1"}}));
  const auto after_word = changes->of(one.id);
  CHECK(after_word != after_end);
  REQUIRE_FALSE(s.write({records::drop_operation{one.id}}));
  CHECK(changes->of(one.id) != after_word);
}

TEST_CASE("a refused change is counted, too: a reader looks again, and finds what is there") {
  temp_directory directory{"/dev/shm"};
  const auto changes = std::make_shared<controller::row_changes>();
  journal::options o{.directory = directory.path()};
  o.changes = changes;
  store s(o);
  const auto one = operation(1, "team/a");
  REQUIRE_FALSE(s.write({reserve_seq{100}, put_operation{one}}));
  const auto before = changes->of(one.id);
  CHECK(s.write({ended(one, 50), put_operation{one}})); // it exists already
  CHECK(changes->of(one.id) != before);
}
