// The leases of external operations: their ends, the operations of a session, and the owners that were notified.
#include "controller/ledger/external_leases.hpp"

#include <catch2/catch.hpp>

using namespace quell;
using namespace quell::controller;

namespace {

struct leases_world {
  live::scope_tree scopes;
  live::operation_table table{scopes, std::nullopt};
  live::external_leases leases{table};
  std::uint64_t seq = 0;

  live::index external(const std::string& session, milliseconds lease = milliseconds{1'000}) {
    records::operation_record r;
    r.seq = r.as_of = ++seq;
    r.id.bytes[15] = static_cast<std::uint8_t>(seq);
    r.kind = kind::external;
    r.name = "crawl";
    r.labels = {{"team", "search"}};
    r.scope = *scope_path::parse("team");
    const live::index x = table.add(r);
    leases.enter(x, {.lease = lease, .session = session}, r);
    return x;
  }
  void stop(live::index x) {
    table.details(x).stop.emplace();
    table.mark_stopped(x);
  }
  void work_is_over(live::index x) {
    leases.work_is_over(x);
    table.set_phase(x, live::end_of(table[x].phase));
  }
  void end(live::index x) {
    leases.leave(x);
    table.remove(x);
  }
  std::vector<live::index> members(const std::string& session) const {
    std::vector<live::index> found;
    for (const auto& [x, guard] : leases.in_session(session)) {
      CHECK(table.is_same(x, guard));
      found.push_back(x);
    }
    return found;
  }
  std::vector<std::string> broken() const {
    std::vector<std::string> sentences;
    table.check(sentences);
    leases.check(sentences);
    return sentences;
  }
};

boot_time at_ms(std::int64_t ms) { return boot_time{ms * 1'000'000}; }

} // namespace

TEST_CASE("an external operation keeps the name and labels for its owner's signal") {
  leases_world w;
  const live::index x = w.external("s1");
  CHECK(w.table[x].external->name == "crawl");
  CHECK(w.table[x].external->labels.at("team") == "search");
  CHECK(w.leases.session_of(x) == "s1");
  CHECK(w.leases.session_of(w.external("")).empty());
  CHECK(w.broken().empty());
}

TEST_CASE("a lease ends when it was said to, and later if its owner was heard") {
  leases_world w;
  const live::index x = w.external("s1");
  w.leases.begin(x, at_ms(5'000));
  CHECK(w.leases.end_of(x) == at_ms(5'000));
  CHECK(w.leases.renew(x, at_ms(4'900)));
  CHECK(w.leases.end_of(x) == at_ms(5'900));
  const live::index without = w.external("s1", milliseconds{0});
  CHECK_FALSE(w.leases.has_lease(without));
  CHECK_FALSE(w.leases.renew(without, at_ms(4'900)));
}

TEST_CASE("every lease begins anew after this process was stalled, and none becomes shorter") {
  leases_world w;
  const live::index x = w.external("s1"), far = w.external("s1");
  w.leases.begin(x, at_ms(5'000));
  w.leases.begin(far, at_ms(90'000));
  w.leases.was_stalled(at_ms(8'000));
  CHECK(w.leases.end_of(x) == at_ms(9'000));
  CHECK(w.leases.end_of(far) == at_ms(90'000));
}

TEST_CASE("the operations of a session are listed oldest first, whichever of them ends") {
  leases_world w;
  const live::index a = w.external("s1"), other = w.external("s2"), b = w.external("s1"), c = w.external("s1");
  CHECK(w.members("s1") == std::vector<live::index>{a, b, c});
  CHECK(w.members("s2") == std::vector<live::index>{other});
  CHECK(w.members("s3").empty());
  CHECK(w.broken().empty());
  w.end(b);
  CHECK(w.members("s1") == std::vector<live::index>{a, c});
  CHECK(w.broken().empty());
  w.end(c);
  CHECK(w.members("s1") == std::vector<live::index>{a});
  w.end(a);
  CHECK(w.members("s1").empty());
  CHECK(w.broken().empty());
  const live::index again = w.external("s1");
  CHECK(w.members("s1") == std::vector<live::index>{again});
  CHECK(w.broken().empty());
}

TEST_CASE("an owner that was notified has its grace from then on, until its operation's own work is over") {
  leases_world w;
  const live::index x = w.external("s1");
  w.stop(x);
  w.leases.notify(x, milliseconds{2'000}, at_ms(10'000));
  const milliseconds grace = w.table[x].external->grace;
  CHECK(grace == milliseconds{2'000});
  CHECK(w.table[x].external->kill_at == at_ms(12'000));
  REQUIRE(w.leases.notified().size() == 1);
  CHECK(w.leases.notified().begin()->second == x);
  w.leases.notify(x, milliseconds{500}, at_ms(10'100)); // hurried
  CHECK(w.leases.notified().size() == 1);
  CHECK(w.table[x].external->kill_at == at_ms(10'600));
  CHECK(w.broken().empty());
  w.work_is_over(x);
  CHECK(w.leases.notified().empty());
  CHECK(w.broken().empty());
}

TEST_CASE("an operation that leaves is not notified any more, whoever uses its slot next") {
  leases_world w;
  const live::index x = w.external("s1");
  w.stop(x);
  w.leases.note_notified(x);
  w.leases.give_grace(x, milliseconds{1'000}, at_ms(0));
  CHECK(w.broken().empty());
  w.end(x);
  CHECK(w.leases.notified().empty());
  CHECK(w.external("s1") == x);
  CHECK(w.broken().empty());
}

TEST_CASE("the check of the leases finds a notified owner of an operation that is not being stopped") {
  leases_world w;
  const live::index x = w.external("s1");
  REQUIRE(w.broken().empty());
  w.leases.note_notified(x);
  CHECK_FALSE(w.broken().empty());
  w.work_is_over(x);
  REQUIRE(w.broken().empty());
  w.table[x].external.reset();
  CHECK_FALSE(w.broken().empty());
}
