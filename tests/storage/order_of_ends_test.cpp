// Ends, and rows that depend on them, keep their order on disk also when one of them is refused.
#include <catch2/catch.hpp>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

struct refusing_store {
  temp_directory directory{"/dev/shm"};
  store s;
  operation_record one = operation(1, "team/a"), two = operation(2, "team/a");
  cancel_record settled = cancel_of(target_scope{scope("team")}, 3);

  explicit refusing_store(bool ordered_terminal_writes)
      : s([&] {
          journal::options o{.directory = directory.path()};
          o.ordered_terminal_writes = ordered_terminal_writes;
          return o;
        }()) {
    settled.status = cancel_status::settled;
    settled.report.operations = 1;
    REQUIRE_FALSE(s.write({reserve_seq{100}, put_operation{one}, put_operation{two}}));
  }
  /// Submits a row that exists already: the whole batch fails, and with it the end of `one`.
  std::uint64_t refused_end() {
    const auto ticket = s.log->submit({ended(one, 50), put_operation{two}});
    REQUIRE(s.log_notices.outcome(ticket));
    return ticket;
  }
  std::optional<fault> settle() { return s.write({put_cancel{settled}}); }
};

} // namespace

TEST_CASE("a cancel does not settle on disk behind an end that was refused, until that is known") {
  refusing_store r(true);
  const auto ticket = r.refused_end();
  CHECK(r.settle());
  CHECK(r.s.write({ended(r.two, 51)})); // can be the parent of an operation that has not ended
  // A start depends on no end; a cancel says that what it does not cover has ended.
  CHECK_FALSE(r.s.write({put_operation{operation(4, "team/a")}}));
  auto accepted = cancel_of(target_scope{scope("team/b")}, 5);
  accepted.status = cancel_status::fenced;
  CHECK(r.s.write({put_cancel{accepted}}));
  // Only the newest refusal counts: the batches above were refused after it.
  r.s.log->refusal_known(ticket);
  CHECK(r.settle());
  r.s.log->refusal_known(r.s.log_notices.all().back().ticket);
  CHECK_FALSE(r.s.write({ended(r.one, 50), put_cancel{r.settled}}));
  CHECK(integrity(r.directory.path()) == "ok");
}

TEST_CASE("a cancel is not held up by a start that was refused") {
  refusing_store r(true);
  CHECK(r.s.write({put_operation{r.two}})); // it exists already
  auto accepted = cancel_of(target_scope{scope("team/b")}, 5);
  accepted.status = cancel_status::fenced;
  CHECK_FALSE(r.s.write({put_cancel{accepted}}));
}

TEST_CASE("whoever does not ask for it is not held up by an earlier refusal") {
  refusing_store r(false);
  r.refused_end();
  CHECK_FALSE(r.settle());
}

TEST_CASE("a cancel of nothing, and one that has not settled, speak of no ends") {
  auto c = cancel_of(target_scope{scope("team")}, 3);
  c.status = cancel_status::settled;
  c.report.operations = 0;
  CHECK_FALSE(depends_on_terminal_rows(put_cancel{c}));
  c.report.operations = 2;
  CHECK(depends_on_terminal_rows(put_cancel{c}));
  c.status = cancel_status::signalled;
  CHECK_FALSE(depends_on_terminal_rows(put_cancel{c}));
  CHECK(depends_on_terminal_rows(drop_cutoff{scope("team")}));
  CHECK(depends_on_terminal_rows(drop_worker{"w1"}));
  const auto o = operation(1, "team");
  CHECK(depends_on_terminal_rows(ended(o, 9)));
  CHECK_FALSE(depends_on_terminal_rows(put_operation{o}));
  CHECK_FALSE(depends_on_terminal_rows(update_operation{o.id, o.hot}));
}

TEST_CASE("an end and a cancel need what came before, other rows do not") {
  const auto o = operation(1, "team");
  CHECK(needs_what_came_before(ended(o, 9)));
  CHECK_FALSE(needs_what_came_before(put_operation{o}));
  auto c = cancel_of(target_scope{scope("team")}, 3);
  c.status = cancel_status::fenced;
  CHECK(needs_what_came_before(put_cancel{c}));
  c.report.fenced_ms = 1;
  CHECK_FALSE(needs_what_came_before(put_cancel{c}));
  c.status = cancel_status::settled;
  c.report.operations = 1;
  CHECK(needs_what_came_before(put_cancel{c}));
}
