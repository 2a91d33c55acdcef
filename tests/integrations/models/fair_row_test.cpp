// Turns of scopes in a row that they share.
#include <algorithm>
#include <catch2/catch.hpp>
#include <list>
#include <map>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "integrations/models/fair_row.hpp"

using quell::integrations::fair_row;

namespace {

struct row_world {
  fair_row row;
  struct person {
    std::string scope;
    fair_row::seat seat{};
  };
  std::list<person> people{};

  person& enter(const std::string& scope, const std::string& tenant = {}) {
    auto& one = people.emplace_back(person{scope});
    one.seat = row.enter(&one, scope, tenant);
    return one;
  }
  std::string next() {
    auto* one = static_cast<person*>(row.front());
    if (!one) return {};
    row.pop_front();
    return one->scope;
  }
  std::vector<std::string> next(int times) {
    std::vector<std::string> all;
    for (int i = 0; i < times; ++i) all.push_back(next());
    return all;
  }
};

using names = std::vector<std::string>;

} // namespace

TEST_CASE("groups take turns, the scopes of a group take turns, and a scope keeps its order") {
  row_world w;
  for (int i = 0; i < 3; ++i) w.enter("d/g1/a");
  w.enter("d/g1/b");
  for (int i = 0; i < 2; ++i) w.enter("d/g2/a");
  w.enter("solo");
  CHECK(w.row.size() == 7);
  CHECK(w.next(7) == names{"d/g1/a", "d/g2/a", "solo", "d/g1/b", "d/g2/a", "d/g1/a", "d/g1/a"});
  CHECK(w.next().empty());
  CHECK(w.row.size() == 0);
}

TEST_CASE("a tenant has one turn among the groups, whatever it calls its scopes, and its own groups share it") {
  row_world w;
  for (int i = 0; i < 3; ++i) w.enter("x/g" + std::to_string(i) + "/c", "loud");
  w.enter("x/g0/c", "loud");
  w.enter("d/g1/a");
  auto& last = w.enter("d/g1/a");
  w.enter("x/g0/c", "quiet"); // the same scope, another tenant
  CHECK(w.row.ahead_of(last.seat) == 4);
  CHECK(w.next(7) == names{"x/g0/c", "d/g1/a", "x/g0/c", "x/g1/c", "d/g1/a", "x/g2/c", "x/g0/c"});
  CHECK(w.row.size() == 0);
}

TEST_CASE("the memory is bounded when a tenant invents scopes") {
  row_world w;
  for (int i = 0; i < 5'000; ++i) {
    w.enter("x" + std::to_string(i) + "/g/c", "t" + std::to_string(i % 3));
    w.enter("x" + std::to_string(i) + "/g/c", "new" + std::to_string(i));
    (void)w.next(2);
    REQUIRE(w.row.remembered() < 1'200);
  }
}

TEST_CASE("a group whose call has just begun comes behind one that is new") {
  row_world w;
  w.enter("d/loud/a");
  CHECK(w.next() == "d/loud/a");
  for (int i = 0; i < 5; ++i) w.enter("d/loud/b");
  w.enter("d/quiet/a");
  CHECK(w.next(3) == names{"d/quiet/a", "d/loud/b", "d/loud/b"});
}

TEST_CASE("a group that comes back has no turn in advance for the time when it was away") {
  row_world w;
  for (int i = 0; i < 50; ++i) w.enter("d/busy/c");
  w.enter("d/other/c");
  (void)w.next(20);
  for (int i = 0; i < 10; ++i) w.enter("d/other/c");
  const auto now = w.next(6);
  CHECK(std::count(now.begin(), now.end(), "d/other/c") == 3);
}

TEST_CASE("an endless stream of new groups does not starve one that waits") {
  row_world w;
  for (int i = 0; i < 5; ++i) w.enter("d/old/c");
  int old = 0;
  for (int i = 0; i < 100; ++i) {
    w.enter("d/new" + std::to_string(i) + "/c");
    if (w.next() == "d/old/c") ++old;
  }
  CHECK(old == 5);
}

TEST_CASE("the memory is bounded when nobody waits") {
  row_world w;
  for (int i = 0; i < 5'000; ++i) {
    w.enter("d/g" + std::to_string(i) + "/c");
    w.enter("d/one/c" + std::to_string(i));
    (void)w.next(2);
    REQUIRE(w.row.remembered() < 400);
  }
}

TEST_CASE("the memory is bounded by those who wait") {
  row_world w;
  for (int i = 0; i < 20; ++i) w.enter("d/old/c");
  for (int i = 0; i < 20'000; ++i) {
    w.enter("d/new" + std::to_string(i) + "/c");
    (void)w.next();
    if (w.row.front() == nullptr || i % 500 == 0) w.enter("d/old/c");
    REQUIRE(w.row.remembered() < 600);
  }
}

TEST_CASE("everybody comes once, whatever happens, and nobody waits longer than was expected") {
  REQUIRE(rc::check("a row of many scopes", [](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& steps) {
    row_world w;
    std::map<row_world::person*, std::size_t> waiting; ///< the most that may come before it
    std::map<std::string, std::list<row_world::person*>> order;
    const auto take = [&](row_world::person* one) {
      waiting.erase(one);
      auto& own = order[one->scope];
      own.remove(one);
    };
    for (const auto& [what, who] : steps) {
      const auto scope = "d/g" + std::to_string(who % 4) + "/c" + std::to_string(who / 4 % 3);
      if (what % 3 == 0) {
        const auto tenant = who % 5 == 0 ? "t" + std::to_string(who % 2) : std::string();
        auto& one = w.enter(scope, tenant);
        one.scope = tenant + " " + scope;
        waiting[&one] = w.row.ahead_of(one.seat);
        order[one.scope].push_back(&one);
      } else if (what % 3 == 1) {
        auto* first = static_cast<row_world::person*>(w.row.front());
        RC_ASSERT((first == nullptr) == waiting.empty());
        if (!first) continue;
        RC_ASSERT(order[first->scope].front() == first);
        RC_ASSERT(w.row.ahead_of(first->seat) == 0U);
        take(first);
        w.row.pop_front();
      } else if (!waiting.empty()) {
        auto* one = std::next(waiting.begin(), who % static_cast<long>(waiting.size()))->first;
        take(one);
        w.row.leave(one->seat);
      }
      RC_ASSERT(w.row.size() == waiting.size());
    }
    // Nobody else comes: everybody's place is as it is expected now.
    std::map<row_world::person*, std::size_t> expected;
    for (const auto& [one, ignored] : waiting) expected[one] = w.row.ahead_of(one->seat);
    std::size_t passed = 0;
    while (auto* first = static_cast<row_world::person*>(w.row.front())) {
      RC_ASSERT(expected.at(first) + 2 >= passed);
      w.row.pop_front();
      ++passed;
    }
    RC_ASSERT(passed == expected.size());
  }));
}
