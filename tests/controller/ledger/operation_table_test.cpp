// The table of live operations: links, lists and counts after operations enter, move and leave.
#include "controller/ledger/operation_table.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace quell;
using namespace quell::controller;

namespace {

/// A table with operations that are named by numbers.
struct table_world {
  live::scope_tree scopes;
  live::operation_table table{scopes, std::nullopt};
  std::uint64_t seq = 0;

  static operation_id id_of(std::uint64_t number) {
    operation_id id;
    for (std::size_t i = 0; i < 8; ++i) id.bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
    return id;
  }
  records::operation_record row(const std::string& scope) {
    records::operation_record r;
    r.seq = r.as_of = ++seq;
    r.id = id_of(seq);
    r.kind = kind::task;
    r.scope = *scope_path::parse(scope);
    r.owner = {"alice", "Alice"};
    r.via_token_id = "laptop";
    r.task.command = {"true"};
    r.task.slots = 2;
    return r;
  }
  live::index top(const std::string& scope) { return table.add(row(scope)); }
  live::index below(live::index parent, const std::string& scope, bool detached = false) {
    auto r = row(scope);
    r.parent = table[parent].id;
    r.detached = detached;
    return table.add(r);
  }
  live::index with_key(const std::string& scope, const std::string& key) {
    auto r = row(scope);
    r.supersede = key;
    return table.add(r);
  }
  void end(live::index x) {
    table.release(x);
    table.set_phase(x, live::phase::over);
  }
  std::vector<std::string> broken() const {
    std::vector<std::string> sentences;
    table.check(sentences);
    return sentences;
  }
  std::vector<live::index> in_scope(const std::string& scope) const {
    std::vector<live::index> found;
    table.each_in_scope(scopes.find(scope), [&](live::index x) { found.push_back(x); });
    return found;
  }
};

} // namespace

TEST_CASE("an operation is found by its id until it is removed, and its slot is then another operation's") {
  table_world w;
  const live::index x = w.top("team");
  const auto id = w.table[x].id;
  CHECK(w.table.find(id) == x);
  CHECK(w.table.is_same(x, 1));
  CHECK(w.broken().empty());
  w.table.remove(x);
  CHECK(w.table.find(id) == live::none);
  CHECK(w.table.size() == 0);
  CHECK(w.scopes.find("team") == live::none);
  const live::index y = w.top("team");
  CHECK(y == x);
  CHECK_FALSE(w.table.is_same(y, 1));
  CHECK(w.broken().empty());
}

TEST_CASE("live_below counts through edges that are not detached, children counts all") {
  table_world w;
  const live::index a = w.top("team"), b = w.below(a, "team/build"), c = w.below(b, "team/build");
  const live::index d = w.below(b, "team/build", true);
  CHECK(w.table[a].live_below == 3);
  CHECK(w.table[b].live_below == 2);
  CHECK(w.table[b].children == 2);
  CHECK(w.table[c].depth == 3);
  CHECK(w.table.parent_of(c) == b);
  CHECK(w.table.parent_of(d) == live::none);
  CHECK(w.table.is_below(d, a));
  CHECK_FALSE(w.table.is_below(a, d));
  CHECK(w.broken().empty());
}

TEST_CASE("the detached children of an operation that is removed become its parent's") {
  table_world w;
  const live::index a = w.top("team"), b = w.below(a, "team");
  const live::index c = w.below(b, "team", true), d = w.below(b, "team", true);
  w.end(b);
  w.table.remove(b);
  CHECK(w.table[c].parent == a);
  CHECK(w.table[d].parent == a);
  CHECK(w.table[a].children == 2);
  CHECK(w.table[a].live_below == 1);
  CHECK(w.broken().empty());
  w.table.remove(a);
  CHECK(w.table[c].parent == live::none);
  CHECK(w.broken().empty());
}

TEST_CASE("a worker's counts are those of the operations that it holds, also in scopes and above them") {
  table_world w;
  const live::index a = w.top("team"), b = w.below(a, "team/build"), c = w.below(b, "team/build");
  w.table.set_phase(c, live::phase::sent);
  w.table.hold(c, 1);
  w.table.set_phase(b, live::phase::sent);
  w.table.hold(b, 1);
  CHECK(w.table.live_on(1) == 2);
  CHECK(w.table.slots_on(1) == 4);
  CHECK(w.table.live_on(0) == 0);
  CHECK(w.table.live_on(live::none) == 0);
  CHECK(w.table.held_by(1) == std::vector<live::index>{b, c});
  CHECK(w.table.held_by(live::none).empty());
  REQUIRE(w.table[a].details);
  CHECK(w.table[a].details->workers_below == live::worker_counts{{1, 2}});
  CHECK(w.broken().empty());
  const auto freed = w.table.release(c);
  w.table.set_phase(c, live::phase::never_begun);
  REQUIRE(freed);
  CHECK(freed->worker == 1);
  CHECK(freed->slots == 2);
  CHECK(w.table[c].worker == 1);
  CHECK_FALSE(w.table.release(c));
  CHECK(w.table.held_by(1) == std::vector<live::index>{b});
  CHECK(w.broken().empty());
}

TEST_CASE("a stopped operation goes to the stopped ones of its scope, behind those that were stopped before") {
  table_world w;
  const live::index a = w.top("team"), b = w.top("team"), c = w.top("team/build");
  w.table.details(b).stop.emplace();
  w.table.mark_stopped(b);
  w.table.details(a).stop.emplace();
  w.table.mark_stopped(a);
  CHECK(w.in_scope("team") == std::vector<live::index>{b, a, c});
  CHECK(w.scopes[w.scopes.find("team")].stopping == 2);
  CHECK(w.scopes[w.scopes.find("team")].live == 3);
  CHECK(w.broken().empty());
}

TEST_CASE("the operations with a supersede key are listed oldest first, and the next one follows the one that leaves") {
  table_world w;
  const live::index a = w.with_key("team", "deploy"), b = w.with_key("team", "deploy");
  const live::index other = w.with_key("team/build", "deploy");
  const auto* listed = w.table.with_key(w.table[a].scope, "deploy");
  REQUIRE(listed != nullptr);
  CHECK(*listed == std::vector<live::index>{a, b});
  CHECK(w.broken().empty());
  CHECK(w.table.leave_key(a) == b);
  w.table.remove(a);
  CHECK(w.table.leave_key(b) == live::none);
  w.table.remove(b);
  CHECK(w.table.with_key(w.table[other].scope, "deploy")->size() == 1);
  CHECK(w.broken().empty());
}

TEST_CASE("counts by kind and status, by owner and by token follow every change") {
  table_world w;
  const live::index a = w.top("team"), b = w.top("team");
  CHECK(w.table.count(kind::task, status::pending) == 2);
  w.table.set_status(a, status::running);
  CHECK(w.table.count(kind::task, status::pending) == 1);
  CHECK(w.table.count(kind::task, status::running) == 1);
  CHECK(w.table.started_with("laptop") == 2);
  CHECK(w.table.started_with("nobody") == 0);
  CHECK(w.table.share_of("laptop", "alice").live == 2);
  CHECK(w.table.share_of("phone", "alice").live == 0);
  w.table.remove(b);
  CHECK(w.table.started_with("laptop") == 1);
  CHECK(w.broken().empty());
  w.table.remove(a);
  CHECK(w.table.find_owner("alice") == live::none);
}

TEST_CASE("a reason to wait is replaced, kept if it is the same, and given up") {
  table_world w;
  const live::index a = w.top("team");
  CHECK(w.table.wait_for(a, {"turn", "waits for its turn"}));
  CHECK_FALSE(w.table.wait_for(a, {"turn", "waits for its turn"}));
  CHECK(w.table.reason_of(a).first == "turn");
  CHECK(w.broken().empty());
  w.table.wait_no_more(a);
  w.table.wait_no_more(a);
  CHECK(w.table[a].waiting == live::none);
  CHECK(w.broken().empty());
}

TEST_CASE("the check of the table finds a node whose fields contradict the lists and counts") {
  table_world w;
  const live::index a = w.top("team"), b = w.below(a, "team");
  REQUIRE(w.broken().empty());
  w.table[b].detached = true; // the table counted it as not detached
  CHECK_FALSE(w.broken().empty());
  w.table[b].detached = false;
  REQUIRE(w.broken().empty());
  w.table[b].kind = kind::turn;
  CHECK_FALSE(w.broken().empty());
  w.table[b].kind = kind::task;
  w.table[b].id = w.table[a].id;
  CHECK_FALSE(w.broken().empty());
  w.table[b].id = table_world::id_of(2);
  w.table.details(b).supersede = "deploy";
  CHECK_FALSE(w.broken().empty());
}

TEST_CASE("the invariants of the table hold after each of many changes in any order") {
  table_world w;
  std::mt19937 random(20'260); // the same changes in every run
  std::vector<live::index> live;
  const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  const std::vector<std::string> some{"team", "team/build", "team/build/x"};
  for (int i = 0; i < 2'000; ++i) {
    const auto what = pick(6);
    if (live.empty() || (what < 2 && live.size() < 40)) {
      const auto depth = pick(3);
      const bool is_child = !live.empty() && pick(2) == 0;
      if (is_child)
        live.push_back(w.below(live[pick(live.size())], "team/build/x", pick(3) == 0));
      else
        live.push_back(w.top(some[depth]));
    } else {
      const std::size_t at = pick(live.size());
      const live::index x = live[at];
      const auto& n = w.table[x];
      if (what == 2 && n.phase == live::phase::ready) {
        w.table.set_phase(x, live::phase::sent);
        w.table.hold(x, static_cast<live::index>(pick(3)));
      } else if (what == 3 && !n.is_stopped()) {
        w.table.details(x).stop.emplace();
        w.table.mark_stopped(x);
      } else if (what == 4 && n.now == status::pending) {
        w.table.set_status(x, status::running);
      } else if (n.live_below == 1) {
        w.end(x);
        w.table.leave_key(x);
        w.table.remove(x);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    for (const auto& sentence : w.broken()) FAIL("after change " << i << ": " << sentence);
  }
}
