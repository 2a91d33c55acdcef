// Pages of the live tree: positions and counts, and that paging neither loses nor repeats an operation that is live all
// the time.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

/// All pages of a query; `between` runs after each.
template <class Between>
std::vector<operation_id> all_pages(world& w, tree_question q, Between between) {
  std::vector<operation_id> found;
  for (int page = 0; page < 1000; ++page) {
    const auto got = w.core->branches(q);
    for (const auto& b : got.operations) found.push_back(b.id);
    if (!got.next) return found;
    q.after = got.next;
    between(page);
  }
  FAIL("the listing does not end");
  return found;
}

std::vector<operation_id> all_pages(world& w, const tree_question& q) {
  return all_pages(w, q, [](int) {});
}

tree_question in_scope(const std::string& scope, std::size_t limit = 100) {
  return {.what = branches_of::scope, .operation = {}, .scope = in(scope), .after = {}, .limit = limit};
}

} // namespace

TEST_CASE("a scope shows the scopes directly in it and the work that begins there") {
  world w;
  w.task("a", in("team/build"));
  w.child("a1", "a");
  w.task("b", in("team/build/x/deep"));
  w.task("c", in("team/build-old"));
  const auto top = w.core->branches({});
  REQUIRE(top.scopes.size() == 1);
  CHECK(top.live == 4);
  CHECK(top.scopes[0].scope == in("team"));
  CHECK(top.operations.empty());
  const auto team = w.core->branches(in_scope("team"));
  REQUIRE(team.scopes.size() == 2);
  CHECK(team.scopes[0].scope == in("team/build"));
  CHECK(team.scopes[0].live == 3);
  CHECK(team.scopes[1].scope == in("team/build-old"));
  const auto build = w.core->branches(in_scope("team/build"));
  REQUIRE(build.scopes.size() == 1);
  CHECK(build.scopes[0].scope == in("team/build/x"));
  REQUIRE(build.operations.size() == 1); // a1 is below a
  CHECK(build.operations[0].id == w.id("a"));
  CHECK(build.operations[0].children == 1);
  CHECK(build.operations[0].below == 1);
  CHECK(w.core->branches(in_scope("nowhere")).operations.empty());
}

TEST_CASE("an operation shows its children, newest first, and one that has ended is not live") {
  world w;
  w.task("root", in("s"));
  for (const char* name : {"x", "y", "z"}) w.child(name, "root");
  w.child("below", "y");
  tree_question q{.what = branches_of::operation, .operation = w.id("root"), .scope = {}, .after = {}, .limit = 2};
  const auto first = w.core->branches(q);
  REQUIRE(first.operations.size() == 2);
  CHECK(first.live == 3);
  CHECK(first.operations[0].id == w.id("z"));
  CHECK(first.operations[1].id == w.id("y"));
  CHECK(first.operations[1].below == 1);
  REQUIRE(first.next);
  q.after = first.next;
  const auto second = w.core->branches(q);
  REQUIRE(second.operations.size() == 1);
  CHECK(second.operations[0].id == w.id("x"));
  CHECK_FALSE(second.next);
  q.operation = operation_id::fresh();
  CHECK_FALSE(w.core->branches(q).is_live);
}

TEST_CASE("roots are those without a parent, in a scope and below it") {
  world w;
  w.task("a", in("team/x"));
  w.child("a1", "a");
  w.task("b", in("team"));
  w.task("c", in("other"));
  const tree_question q{.what = branches_of::roots, .operation = {}, .scope = in("team"), .after = {}, .limit = 1};
  const auto found = all_pages(w, q);
  CHECK(std::set<operation_id>(found.begin(), found.end()) == std::set<operation_id>{w.id("a"), w.id("b")});
}

TEST_CASE("who lives all the while is listed once, though others come, end and are stopped between the pages") {
  world w;
  for (int i = 0; i < 40; ++i) w.task("t" + std::to_string(i), in("s"));
  int fresh = 0;
  const auto change = [&](int page) {
    w.task("new" + std::to_string(fresh++), in("s"));
    const auto name = "t" + std::to_string(page * 3 % 40);
    if (w.core->view(w.id(name), w.now)) w.cancel_task(name); // it never ran: it ends immediately
    w.roll_out();
  };
  const auto found = all_pages(w, in_scope("s", 3), change);
  for (int i = 0; i < 40; ++i) {
    const auto id = w.id("t" + std::to_string(i));
    const auto times = std::count(found.begin(), found.end(), id);
    INFO(i);
    CHECK(times <= 1);
    if (w.core->view(id, w.now)) CHECK(times == 1);
  }
}

TEST_CASE("what is being stopped is listed as well, and counted") {
  world w;
  for (const char* name : {"a", "b", "c"}) {
    w.task(name, in("s"));
    w.runs(name, "w1");
  }
  w.cancel_task("b");
  w.roll_out();
  const auto page = w.core->branches(in_scope("s"));
  CHECK(page.operations.size() == 3);
  CHECK(page.cancelling == 1);
  const auto found = all_pages(w, in_scope("s", 1));
  CHECK(std::set<operation_id>(found.begin(), found.end()).size() == 3);
}

TEST_CASE("a place that nobody wrote does no harm") {
  world w;
  w.task("a", in("s"));
  for (const auto what : {branches_of::scope, branches_of::operation, branches_of::roots})
    for (const std::uint32_t slot : {0U, 1U, 5'000'000U, 0xffffffffU})
      for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        tree_question q{.what = what,
                        .operation = w.id("a"),
                        .scope = in("s"),
                        .after = tree_place{"", slot, seq, true},
                        .limit = 1};
        CHECK(w.core->branches(q).operations.size() <= 1);
      }
}

namespace {

/// The state after the events up to `id` of a scope and below it: what lives, and what of it is being stopped.
std::pair<std::uint64_t, std::uint64_t> counted(const world& w, std::uint64_t id, const scope_path& scope) {
  std::map<operation_id, bool> live; // and whether it is being stopped
  for (const auto& e : w.store.events) {
    if (e.id > id || !e.operation || !e.scope || !e.scope->is_at_or_below(scope)) continue;
    if (e.type == event_type::operation_created) live[*e.operation] = false;
    if (e.type == event_type::operation_cancelling) live[*e.operation] = true;
    if (e.type == event_type::operation_completed || e.type == event_type::operation_failed ||
        e.type == event_type::operation_cancelled)
      live.erase(*e.operation);
  }
  return {live.size(), std::count_if(live.begin(), live.end(), [](const auto& one) { return one.second; })};
}

void check_joined(const world& w) {
  for (const char* scope : {"s", "s/a", "s/b"}) {
    const auto page = w.core->branches(in_scope(scope));
    INFO(scope);
    CHECK(page.event == w.store.events.back().id);
    CHECK(std::pair(page.live, page.cancelling) == counted(w, page.event, in(scope)));
    for (const auto& inner : page.scopes)
      CHECK(std::pair(inner.live, inner.cancelling) == counted(w, page.event, inner.scope));
  }
}

} // namespace

TEST_CASE("a page's counts hold the events up to its own, and none behind it, also in the middle of a sweep") {
  ledger_settings few_at_once;
  few_at_once.leaves_per_step = 2;
  world w(few_at_once);
  for (int i = 0; i < 12; ++i) {
    const auto name = "t" + std::to_string(i);
    w.task(name, in(i % 2 == 0 ? "s/a" : "s/b"));
    if (i % 3 != 0) w.runs(name, "w1");
    check_joined(w);
  }
  w.exits("t1", 0);
  check_joined(w);
  w.cancel_task("t2");
  check_joined(w);
  const auto stop = w.cancel_scope("s");
  int steps = 0;
  for (bool has_more = true; has_more; ++steps) {
    check_joined(w);
    has_more = w.core->step(w.now);
    w.take();
  }
  CHECK(steps > 2);
  w.applied("w1", stop);
  check_joined(w);
  w.dies("t4");
  check_joined(w);
}
