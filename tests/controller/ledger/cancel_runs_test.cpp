// The open cancels: what each covers, joins and still awaits, and how it settles.
#include "controller/ledger/cancel_runs.hpp"

#include <catch2/catch.hpp>

using namespace quell;
using namespace quell::controller;
using live::cancel_run;

namespace {

/// Operations and cancels that are named by their seq.
struct runs_world {
  live::scope_tree scopes;
  live::operation_table table{scopes, std::nullopt};
  live::cancel_runs runs{table, scopes};
  std::uint64_t next_seq = 1;

  live::index operation(const std::string& scope, live::index parent = live::none, bool detached = false,
                        const std::string& owner = "alice") {
    records::operation_record r;
    r.seq = r.as_of = next_seq++;
    r.id.bytes[15] = static_cast<std::uint8_t>(r.seq);
    r.kind = kind::task;
    r.scope = *scope_path::parse(scope);
    if (parent != live::none) r.parent = table[parent].id;
    r.detached = detached;
    r.owner = {owner, owner};
    return table.add(r);
  }
  cancel_run draft(records::cancel_target target, std::optional<std::uint64_t> cutoff = {}) {
    records::cancel_record r;
    r.seq = next_seq;
    r.id.bytes[15] = static_cast<std::uint8_t>(next_seq);
    r.cutoff = cutoff.value_or(next_seq);
    r.target = std::move(target);
    return runs.draft({}, std::move(r));
  }
  cancel_run& cancel(records::cancel_target target, std::optional<std::uint64_t> cutoff = {}) {
    cancel_run run = draft(std::move(target), cutoff);
    const std::uint64_t covered = runs.count_covered(run, next_seq++);
    run.record.report.operations = covered;
    return runs.open(std::move(run), covered);
  }
  cancel_run& cancel_scope(const std::string& scope) {
    return cancel(records::target_scope{*scope_path::parse(scope)});
  }
  cancel_run& cancel_operation(live::index x) { return cancel(records::target_operation{table[x].id}); }
  /// Ends it, and settles the cancels of which it was the last.
  void end(live::index x) {
    for (cancel_run* run : runs.count_end(x, receipt::terminated, proof::cgroup_empty))
      if (run->remaining == 0) runs.settle(*run);
    table.remove(x);
  }
  std::vector<std::string> broken() const {
    std::vector<std::string> sentences;
    table.check(sentences);
    runs.check(sentences);
    return sentences;
  }
};

std::uint64_t count_of_receipts(const records::cancel_record& r, receipt how) {
  return r.report.receipts[static_cast<std::size_t>(how)];
}

} // namespace

TEST_CASE("a run of a scope covers what is in and below it, and nothing that came later") {
  runs_world w;
  const live::index a = w.operation("team"), b = w.operation("team/build"), c = w.operation("teams");
  cancel_run& run = w.cancel_scope("team");
  const live::index later = w.operation("team");
  CHECK(run.remaining == 2);
  CHECK(w.runs.covers(run, a));
  CHECK(w.runs.covers(run, b));
  CHECK_FALSE(w.runs.covers(run, c));
  CHECK_FALSE(w.runs.covers(run, later));
  CHECK(w.runs.covered_list(run) == std::vector<live::index>{a, b});
  CHECK(w.runs.has_scope_cancels());
  CHECK(w.broken().empty());
}

TEST_CASE("a run of an operation covers what hangs on it, but not across a detached edge") {
  runs_world w;
  const live::index a = w.operation("team"), b = w.operation("team", a), c = w.operation("team", b, true);
  cancel_run& run = w.cancel_operation(a);
  CHECK(run.remaining == 2);
  CHECK(w.runs.covers(run, b));
  CHECK_FALSE(w.runs.covers(run, c));
  std::vector<cancel_run*> found;
  w.runs.covering(b, found);
  CHECK(found == std::vector<cancel_run*>{&run});
  w.runs.covering(c, found);
  CHECK(found.empty());
  CHECK(w.broken().empty());
}

TEST_CASE("a run of an owner covers that owner's operations and what hangs on them") {
  runs_world w;
  const live::index a = w.operation("team", live::none, false, "alice"), b = w.operation("team", a, false, "bob");
  const live::index c = w.operation("team", live::none, false, "bob");
  cancel_run& run = w.cancel(records::target_owner{"alice", std::nullopt});
  CHECK(run.remaining == 2);
  CHECK(w.runs.covers(run, b));
  CHECK_FALSE(w.runs.covers(run, c));
  const auto named = [&](live::index x) {
    std::vector<cancel_run*> found;
    w.runs.each_broad_of(x, [&](cancel_run& one) { found.push_back(&one); });
    return found;
  };
  CHECK(named(a) == std::vector<cancel_run*>{&run});
  CHECK(named(b).empty()); // it hangs on what is named
  cancel_run& all = w.cancel(records::target_everything{*scope_path::parse("team")});
  CHECK(named(a) == std::vector<cancel_run*>{&all, &run});
  CHECK(named(c) == std::vector<cancel_run*>{&all});
  CHECK(w.broken().empty());
}

TEST_CASE("a run of an owner finds what is below that owner's operations once, and not what is detached or elsewhere") {
  runs_world w;
  const live::index a = w.operation("team/x", live::none, false, "alice"), b = w.operation("team/x", a, false, "alice");
  const live::index deep = w.operation("team/x", b, false, "bob"), apart = w.operation("team/x", a, true, "bob");
  w.operation("other", live::none, false, "alice");
  cancel_run& run = w.cancel(records::target_owner{"alice", *scope_path::parse("team")});
  CHECK(w.runs.covered_list(run) == std::vector<live::index>{a, b, deep});
  CHECK_FALSE(w.runs.covers(run, apart));
  CHECK(w.broken().empty());
  w.end(deep);
  w.end(b);
  CHECK(w.runs.covered_list(run) == std::vector<live::index>{a});
  CHECK(w.broken().empty());
}

TEST_CASE("an end is counted once in each run that covers it, and the last one settles the run") {
  runs_world w;
  const live::index a = w.operation("team"), b = w.operation("team");
  const cancel_id wide = w.cancel_scope("team").record.id, narrow = w.cancel_operation(b).record.id;
  w.end(b);
  CHECK(w.runs.find(narrow) == nullptr);
  REQUIRE(w.runs.settled(narrow) != nullptr);
  CHECK(count_of_receipts(*w.runs.settled(narrow), receipt::terminated) == 1);
  REQUIRE(w.runs.find(wide) != nullptr);
  CHECK(w.runs.find(wide)->remaining == 1);
  CHECK(w.broken().empty());
  w.end(a);
  CHECK(w.runs.empty());
  CHECK_FALSE(w.runs.has_scope_cancels());
  REQUIRE(w.runs.record_of(wide) != nullptr);
  CHECK(count_of_receipts(*w.runs.record_of(wide), receipt::terminated) == 2);
  CHECK(w.scopes.find("team") == live::none); // nothing holds it any more
  CHECK(w.broken().empty());
  w.runs.forget_settled(wide);
  CHECK(w.runs.record_of(wide) == nullptr);
}

TEST_CASE("a cancel joins an open one of its target unless operations came in between") {
  runs_world w;
  const auto team = records::target_scope{*scope_path::parse("team")};
  w.operation("team");
  cancel_run& first = w.cancel(team);
  cancel_run second = w.draft(team);
  CHECK(w.runs.joinable(second, w.runs.count_covered(second, w.next_seq)) == &first);
  w.runs.drop(second);
  w.operation("team");
  cancel_run third = w.draft(team);
  CHECK(w.runs.joinable(third, w.runs.count_covered(third, w.next_seq)) == nullptr);
  CHECK(w.runs.joinable(third, 0) == nullptr);
  w.runs.drop(third);
  cancel_run elsewhere = w.draft(records::target_scope{*scope_path::parse("team/build")});
  CHECK(w.runs.joinable(elsewhere, 1) == nullptr);
  w.runs.drop(elsewhere);
  CHECK(w.scopes.find("team/build") == live::none);
  CHECK(w.broken().empty());
}

TEST_CASE("a cutoff below the newest operation covers only what is not newer") {
  runs_world w;
  const live::index a = w.operation("team");
  const live::index b = w.operation("team");
  cancel_run& run = w.cancel(records::target_scope{*scope_path::parse("team")}, w.table[a].seq);
  CHECK(run.remaining == 1);
  CHECK(w.runs.covers(run, a));
  CHECK_FALSE(w.runs.covers(run, b));
  CHECK(w.broken().empty());
}

TEST_CASE("the workers below a run are those that hold what it covers") {
  runs_world w;
  const live::index a = w.operation("team"), b = w.operation("team");
  w.table.set_phase(a, live::phase::sent);
  w.table.hold(a, 4);
  w.table.set_phase(b, live::phase::sent);
  w.table.hold(b, 2);
  cancel_run& all = w.cancel_scope("team");
  CHECK(w.runs.workers_below(all, w.next_seq) == std::vector<live::index>{2, 4});
  cancel_run& older = w.cancel(records::target_scope{*scope_path::parse("team")}, w.table[a].seq);
  CHECK(w.runs.workers_below(older, w.next_seq) == std::vector<live::index>{4});
  CHECK(w.runs.workers_below(w.cancel_operation(b), w.next_seq) == std::vector<live::index>{2});
  CHECK(w.broken().empty());
}

TEST_CASE("a run's row is written once, however often it was touched, and never after it has settled") {
  runs_world w;
  const live::index a = w.operation("team");
  w.operation("team");
  cancel_run& run = w.cancel_scope("team");
  const cancel_id narrow = w.cancel_operation(a).record.id;
  w.runs.touch(run);
  w.runs.touch(run);
  CHECK(w.broken().empty());
  w.end(a); // touches both, and settles the second one
  std::vector<records::entry> journal;
  std::vector<cancel_id> changed;
  w.runs.take_changes(journal, changed);
  REQUIRE(journal.size() == 1);
  const auto* row = std::get_if<records::put_cancel>(&journal.front());
  REQUIRE(row != nullptr);
  CHECK(row->record.id == run.record.id);
  CHECK(changed == std::vector<cancel_id>{run.record.id, narrow});
  CHECK(w.broken().empty());
  journal.clear();
  w.runs.take_changes(journal, changed);
  CHECK(journal.empty());
  CHECK(changed.empty());
}

TEST_CASE("the check of the runs finds a run whose report or target contradicts the operations") {
  runs_world w;
  const live::index a = w.operation("team");
  w.operation("team");
  cancel_run& run = w.cancel_operation(a);
  REQUIRE(w.broken().empty());
  run.record.report.operations = 5;
  CHECK_FALSE(w.broken().empty());
  run.record.report.operations = 1;
  REQUIRE(w.broken().empty());
  w.table.details(a).targets.clear();
  CHECK_FALSE(w.broken().empty());
  w.table.details(a).targets.push_back(&run);
  REQUIRE(w.broken().empty());
  w.cancel_scope("team").record.cutoff = 0; // covers nothing of what it counted
  CHECK_FALSE(w.broken().empty());
}
