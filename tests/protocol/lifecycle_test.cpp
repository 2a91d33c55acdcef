// The lifecycle table as properties: every pair of statuses is either a row or refused.
#include <set>

#include <catch2/catch.hpp>

#include "protocol/lifecycle.hpp"

using namespace quell;

namespace {

std::vector<status> every_status() {
  std::vector<status> all;
  for (std::size_t i = 0; i < count_of<status>(); ++i) all.push_back(static_cast<status>(i));
  return all;
}

std::set<status> reachable_from(status first) {
  std::set<status> found{first};
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& move : lifecycle_table)
      if (found.contains(move.from) && found.insert(move.to).second) grew = true;
  }
  return found;
}

} // namespace

TEST_CASE("exactly the 13 legal moves are legal", "[lifecycle]") {
  using enum status;
  const std::set<std::pair<status, status>> legal{
      {pending, running},      {pending, cancelling},   {pending, cancelled}, {pending, failed}, {running, paused},
      {running, cancelling},   {running, completed},    {running, failed},    {paused, running}, {paused, cancelling},
      {cancelling, cancelled}, {cancelling, completed}, {cancelling, failed},
  };
  for (const auto from : every_status())
    for (const auto to : every_status()) {
      INFO(name_of(from) << " -> " << name_of(to));
      CHECK(may_move(from, to) == legal.contains({from, to}));
    }
}

TEST_CASE("no status moves to itself, and terminal ones have no exit", "[lifecycle]") {
  for (const auto s : every_status()) {
    CHECK_FALSE(may_move(s, s));
    if (is_terminal(s))
      for (const auto to : every_status()) CHECK_FALSE(may_move(s, to));
  }
}

TEST_CASE("every status is reachable from pending, and from every live one a terminal one is reached", "[lifecycle]") {
  CHECK(reachable_from(status::pending).size() == count_of<status>());
  for (const auto s : every_status()) {
    const auto found = reachable_from(s);
    CHECK(found.contains(status::cancelled) == (!is_terminal(s) || s == status::cancelled));
  }
}

TEST_CASE("what is being stopped never becomes live again", "[lifecycle]") {
  const auto found = reachable_from(status::cancelling);
  CHECK_FALSE(found.contains(status::pending));
  CHECK_FALSE(found.contains(status::running));
  CHECK_FALSE(found.contains(status::paused));
}

TEST_CASE("every move says what causes it", "[lifecycle]") {
  for (const auto& move : lifecycle_table) {
    CHECK_FALSE(move.when.empty());
    CHECK(move.when.find_first_of(":\n") == std::string_view::npos); // it becomes a label in the diagram
  }
}
