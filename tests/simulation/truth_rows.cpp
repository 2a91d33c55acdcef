// Rows as they reach the disk: legal moves, final ends with proof, intended stops, sums, numbers; and that a restart
// finds exactly the written rows.
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <numeric>

#include "protocol/lifecycle.hpp"
#include "tests/simulation/voice_tasks.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

void oracle::committed(const std::vector<records::entry>& rows) {
  for (const auto& e : rows) // one transaction: the order within it does not matter
    if (const auto* s = std::get_if<records::reserve_seq>(&e)) seq_limit_ = std::max(seq_limit_, s->limit);
  for (const auto& e : rows) {
    if (world_.failed()) return;
    if (const auto* p = std::get_if<records::put_operation>(&e)) {
      put(*p->record);
    } else if (const auto* u = std::get_if<records::update_operation>(&e)) {
      update(u->id, u->hot);
    } else if (const auto* c = std::get_if<records::put_cancel>(&e)) {
      put(c->record);
    } else if (const auto* k = std::get_if<records::put_cutoff>(&e)) {
      auto& known = cutoffs_[k->record.scope];
      if (known.cutoff > k->record.cutoff)
        world_.violate("cutoff", "the cutoff of " + k->record.scope.text() + " went back");
      known = k->record;
    } else if (const auto* d = std::get_if<records::drop_cutoff>(&e)) {
      cutoffs_.erase(d->scope);
    } else if (const auto* t = std::get_if<records::put_tombstone>(&e)) {
      tombstones_[t->record.id] = t->record;
    } else if (const auto* g = std::get_if<records::drop_tombstone>(&e)) {
      tombstones_.erase(g->id);
    } else if (const auto* w = std::get_if<records::put_worker>(&e)) {
      worker_rows_[w->record.name] = w->record;
    } else if (const auto* gone = std::get_if<records::drop_worker>(&e)) {
      worker_rows_.erase(gone->name);
    } else if (const auto* event = std::get_if<records::put_event>(&e)) {
      put(event->record);
    }
  }
  for (const auto& e : rows)
    if (const auto* c = std::get_if<records::put_cancel>(&e); c && !world_.failed())
      check_whole(cancels_[cancel_by_id_.at(c->record.id)]);
  for (const auto& e : rows)
    if (const auto* u = std::get_if<records::update_operation>(&e); u && is_terminal(u->hot.now) && !world_.failed())
      check_chain(*find(u->id));
  check_guilds();
  if (world_.plan.chats && !world_.failed()) world_.turns.committed(rows);
  if (world_.plan.voice && !world_.failed()) world_.voices.committed(rows);
}

/// Children have larger numbers, so they stand behind their parent.
void oracle::check_chain(const row& r) const {
  if (writes_failed_) return;
  const auto me = static_cast<int>(index_of(r));
  for (auto at = index_of(r) + 1; at < rows_.size(); ++at)
    if (const row& below = rows_[at]; below.parent == me && !below.record.detached && !is_terminal_row(below))
      return world_.violate("chain", name(r) + " is over on disk, and " + name(below) + " below it is not");
}

void oracle::not_written(const std::vector<records::entry>& rows) {
  writes_failed_ = true;
  for (const auto& e : rows)
    if (const auto* c = std::get_if<records::put_cancel>(&e)) unwritten_cancels_.insert(c->record.id);
}

void oracle::put(const records::operation_record& r) {
  if (by_id_.contains(r.id)) return world_.violate("store", "an operation was inserted twice");
  row fresh;
  fresh.record = r;
  fresh.was_declared = declared_.contains(r.id);
  const auto wrong = [&](const char* invariant, const std::string& text) {
    world_.violate(invariant, world_.label(r.id) + " (seq " + std::to_string(r.seq) + ") " + text);
  };
  world_.note("disk", [&] {
    return world_.label(r.id) + " is registered: seq " + std::to_string(r.seq) +
           (r.as_of != r.seq ? " as of " + std::to_string(r.as_of) : "") + ", scope " + r.scope.text() +
           (r.parent ? ", child of " + world_.label(*r.parent) : "") + (r.detached ? ", detached" : "");
  });
  if (!seq_of_.emplace(r.seq, r.id.text()).second || r.seq <= last_seq_)
    wrong("seq grows", "has a number that is not above all earlier ones");
  if (r.seq >= seq_limit_) wrong("seq grows", "has a number that is not reserved");
  last_seq_ = std::max(last_seq_, r.seq);
  if (const auto grave = tombstones_.find(r.id); grave != tombstones_.end())
    if (!grave->second.within || below(r.scope, *grave->second.within))
      wrong("tombstone", "was cancelled before it was created");
  for (const auto& [scope, cutoff] : cutoffs_)
    if (below(r.scope, scope) && r.as_of <= cutoff.cutoff)
      wrong("no escape", "is not above the cutoff of " + scope.text());
  for (const auto& c : cancels_) {
    if (writes_failed_ && c.record.status == cancel_status::settled) continue; // its cutoff may never have been written
    if (const auto* s = std::get_if<records::target_scope>(&c.record.target))
      if (c.record.seq < r.seq && r.as_of <= c.record.cutoff && below(r.scope, s->scope))
        wrong("no escape", "is not newer than " + world_.label(c.record.id));
  }
  if (r.parent) {
    const row* above = find(*r.parent);
    if (!above) return wrong("store", "hangs on a parent that is not there");
    fresh.parent = static_cast<int>(index_of(*above));
    // A detached operation can supersede the very parent that it names: the order closes it.
    const bool supersedes = r.detached && r.supersede && r.supersede == above->record.supersede;
    if (supersedes) return keep(std::move(fresh));
    if (is_terminal_row(*above)) wrong("no escape", "is the child of " + name(*above) + ", which is over");
    for (const auto& c : cancels_)
      if (c.record.seq < r.seq && covers(c, *above))
        wrong("no escape", "is the child of " + name(*above) + ", which " + world_.label(c.record.id) + " closed");
  }
  keep(std::move(fresh));
}

void oracle::keep(row fresh) {
  by_id_.emplace(fresh.record.id, rows_.size());
  rows_.push_back(std::move(fresh));
}

void oracle::update(const operation_id& id, const records::operation_hot& hot) {
  row* r = find(id);
  if (!r) return world_.violate("store", "an operation was changed that is not there");
  check_move(*r, hot);
  const auto& before = r->record.hot;
  if (hot.stop && (!before.stop || before.stop->cause != hot.stop->cause || before.stop->cancel != hot.stop->cancel))
    check_stop(*r, *hot.stop);
  const bool ends = (is_terminal(hot.now) && !is_terminal(before.now)) || (hot.self_status && !before.self_status);
  if (ends) check_end(*r, hot);
  if (hot.now != before.now || hot.worker != before.worker)
    world_.note("disk", [&] {
      return name(*r) + " is " + std::string(name_of(hot.now)) + (hot.worker ? " on " + *hot.worker : "") +
             (hot.stop && hot.stop->how ? ", " + std::string(name_of(*hot.stop->how)) : "") +
             (hot.stop && hot.stop->evidence ? ", " + std::string(name_of(*hot.stop->evidence)) : "") +
             (hot.error ? ", " + hot.error->code : "");
    });
  if (is_terminal(hot.now) && !is_terminal(before.now)) r->over_at = world_.events.now();
  r->record.hot = hot;
}

void oracle::check_move(const row& r, const records::operation_hot& to) {
  const auto& from = r.record.hot;
  const auto wrong = [&](const char* invariant, const std::string& text) {
    world_.violate(invariant, name(r) + " " + text);
  };
  if (is_terminal(from.now)) {
    if (from.now != to.now || from.ended_seq != to.ended_seq || from.stop != to.stop || from.error != to.error)
      wrong("terminal is final",
            "was " + std::string(name_of(from.now)) + " and became " + std::string(name_of(to.now)));
    return;
  }
  // With a full disk, intermediate states may never have been written.
  if (from.now != to.now && !may_move(from.now, to.now) && !writes_failed_)
    wrong("legal moves", "went from " + std::string(name_of(from.now)) + " to " + std::string(name_of(to.now)));
  if (from.stop && (!to.stop || to.stop->seq != from.stop->seq))
    wrong("first stop", "is under another stop than first");
  if (from.worker && to.worker && *from.worker != *to.worker && !writes_failed_)
    wrong("one run", "moved from one worker to another");
  if (from.worker && !to.worker && (from.started_at || r.executions > 0))
    wrong("one run", "is to be placed again and ran");
  if (is_terminal(to.now) && seq_of_.emplace(to.ended_seq, "end of " + r.record.id.text()).second == false)
    wrong("seq grows", "ended with a number that is taken");
}

/// Only intended stops: the cause of a stop must be true.
void oracle::check_stop(const row& r, const records::stop_state& stop) {
  const auto wrong = [&](const std::string& text) { world_.violate("only what was meant", name(r) + " " + text); };
  switch (stop.cause) {
  case stop_cause::cancel: {
    if (!stop.cancel) return wrong("is under a cancel that has no id");
    const auto c = cancel_by_id_.find(*stop.cancel);
    if (c == cancel_by_id_.end()) {
      if (!unwritten_cancels_.contains(*stop.cancel)) wrong("is under a cancel that nobody accepted");
      return;
    }
    if (!covers(cancels_[c->second], r))
      wrong("is stopped by " + world_.label(*stop.cancel) + ", which does not cover it");
    return;
  }
  case stop_cause::parent_ended:
    if (r.parent < 0 || r.record.detached) wrong("is stopped by the end of a parent that it does not have");
    return;
  case stop_cause::timeout:
    // The time of a call is checked with its turn.
    if (r.record.timeout.count() == 0 && r.record.kind != kind::tool_call) wrong("timed out and has no timeout");
    return;
  case stop_cause::superseded:
    // The task that speaks an answer is stopped so, too, when the answer is talked over.
    if (!r.record.supersede && r.record.name != played_mouth) wrong("is superseded and has no key");
    return;
  case stop_cause::drain:
  case stop_cause::worker_lost: {
    const bool has_reporter = std::any_of(workers_.begin(), workers_.end(), [&](const auto& w) {
      return stop.cause == stop_cause::drain ? w.ordered_away : w.was_declared;
    });
    if (!has_reporter) wrong("is stopped for its worker, and nobody ordered that");
    return;
  }
  case stop_cause::disconnect:
    return;
  case stop_cause::budget:
    if (r.record.kind != kind::turn) wrong("is stopped for its budget and is not a turn");
    return;
  }
}

/// An end is written with proof only.
void oracle::check_end(const row& r, const records::operation_hot& to) {
  if (r.was_declared || (to.stop && to.stop->how == receipt::declared)) return;
  const auto wrong = [&](const char* invariant, const std::string& text) {
    world_.violate(invariant, name(r) + " " + text);
  };
  if (r.living > 0) {
    // A killed process that is stuck in the kernel runs nothing; by the rule of the lease it counts as dead.
    const bool by_rule = !world_.workers[r.worker]->host().could_run(r.record.id);
    if (!by_rule)
      wrong("end with proof",
            "is over on disk while " + std::to_string(r.living) + " of its processes live on " + world_.name(r.worker));
  }
  // A lease needs no witness. An end that came before the stop keeps its evidence in memory only.
  const bool seen = to.stop && to.stop->evidence && *to.stop->evidence != proof::none &&
                    *to.stop->evidence != proof::lease_expired && to.stop->how != receipt::already_finished;
  if (r.is_cut_off && seen)
    wrong("end with proof",
          "is proven by " + std::string(name_of(*to.stop->evidence)) + ", and its guardian was killed while it lived");
  const bool never_ran = to.stop && to.stop->evidence == proof::never_ran;
  if (never_ran && r.executions > 0) wrong("end with proof", "never ran, says the record; it did");
  if (never_ran && (to.started_at || r.started_events > 0))
    wrong("never ran", "never ran and has started, says the record");
}

void oracle::put(const records::cancel_record& c) {
  const auto& report = c.report;
  const auto receipts = std::accumulate(report.receipts.begin(), report.receipts.end(), std::uint64_t{0});
  const auto proofs = std::accumulate(report.proofs.begin(), report.proofs.end(), std::uint64_t{0});
  const auto wrong = [&](const char* invariant, const std::string& text) {
    world_.violate(invariant, world_.label(c.id) + " " + text);
  };
  if (receipts != proofs || receipts > report.operations) wrong("report", "has sums that do not hold");
  if (c.status == cancel_status::settled && receipts != report.operations) wrong("report", "is settled with work left");
  const auto known = cancel_by_id_.find(c.id);
  if (known == cancel_by_id_.end()) {
    world_.note("disk", [&] {
      std::string text = world_.label(c.id) + " is accepted: seq " + std::to_string(c.seq);
      if (const auto* o = std::get_if<records::target_operation>(&c.target)) text += ", of " + world_.label(o->id);
      if (const auto* s = std::get_if<records::target_scope>(&c.target)) text += ", of scope " + s->scope.text();
      if (const auto* w = std::get_if<records::target_owner>(&c.target)) text += ", of owner " + w->owner;
      return text + ", covers " + std::to_string(report.operations);
    });
    if (!seq_of_.emplace(c.seq, c.id.text()).second) wrong("seq grows", "has a number that is taken");
    if (c.seq >= seq_limit_) wrong("seq grows", "has a number that is not reserved");
    last_seq_ = std::max(last_seq_, unwritten_cancels_.contains(c.id) ? 0 : c.seq);
    cancel_by_id_.emplace(c.id, cancels_.size());
    cancels_.push_back({c, false, false, {}, c.grace});
    cancels_.back().accepted_at = world_.events.now();
  } else {
    auto& old = cancels_[known->second];
    if (old.record.status > c.status) wrong("terminal is final", "went back from a later status");
    if (old.record.report.operations != report.operations && !writes_failed_)
      wrong("report", "covers another number than at first");
    old.record = c;
  }
  if (c.status == cancel_status::settled) check_settled(cancels_[cancel_by_id_.at(c.id)]);
}

void oracle::check_settled(const cancel_row& c) {
  for (const auto& r : rows_) {
    // An end that a full disk refused is an end nevertheless; its processes are gone.
    const bool is_over = is_terminal_row(r) || r.was_declared || (writes_failed_ && r.living == 0);
    if (!is_over && covers(c, r))
      return world_.violate("settled", world_.label(c.record.id) + " is settled while " + name(r) + " is " +
                                           std::string(name_of(r.record.hot.now)));
  }
}

void oracle::put(const records::event_record& e) {
  if (e.id <= last_event_) world_.violate("events", "an event's number was used twice");
  last_event_ = e.id;
  if (e.cancel && text_of(e).starts_with("cancel_"))
    if (const auto c = cancel_by_id_.find(*e.cancel); c != cancel_by_id_.end()) ++cancels_[c->second].events[e.type];
  if (row* r = e.operation && e.type == event_type::operation_started ? find(*e.operation) : nullptr) {
    const auto& stop = r->record.hot.stop;
    if (++r->started_events > 1) world_.violate("never ran", name(*r) + " began twice, say the events");
    if (stop && stop->evidence == proof::never_ran)
      world_.violate("never ran", name(*r) + " never ran and has started, say the events");
  }
  if (!ends_operation(e.type) || !e.operation) return;
  if (row* r = find(*e.operation); r && ++r->terminal_events > 1)
    world_.violate("terminal is final", name(*r) + " ended twice, say the events");
}

void oracle::uncertain(std::vector<storage::pending_batch> group, bool one_by_one) {
  uncertain_ = std::move(group);
  arrives_one_by_one_ = one_by_one;
}

bool oracle::matches(const records::recovered_state& state, std::string& difference) const {
  std::vector<const records::operation_record*> live;
  for (const auto& r : rows_)
    if (!is_terminal_row(r)) live.push_back(&r.record);
  const bool same_live = std::equal(live.begin(), live.end(), state.live.begin(), state.live.end(),
                                    [](const auto* a, const auto& b) { return *a == b; });
  if (!same_live)
    difference = "live operations: " + std::to_string(live.size()) + " were written, " +
                 std::to_string(state.live.size()) + " are found";
  std::vector<records::cancel_record> open;
  for (const auto& c : cancels_)
    if (c.record.status != cancel_status::settled) open.push_back(c.record);
  std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  if (open != state.open_cancels) difference = "open cancels";
  if (cutoffs_.size() != state.cutoffs.size()) difference = "cutoffs";
  if (tombstones_.size() != state.tombstones.size()) difference = "tombstones";
  std::vector<records::worker_record> workers;
  for (const auto& [name, w] : worker_rows_) workers.push_back(w);
  if (workers != state.workers) difference = "workers";
  if (state.next_seq < seq_limit_ || state.next_event <= last_event_) difference = "numbers";
  return difference.empty();
}

bool oracle::is_on_disk(const std::vector<records::entry>& batch) const {
  for (const auto& e : batch) {
    const auto* event = std::get_if<records::put_event>(&e);
    if (!event) continue;
    SQLite::Statement row(*world_.disk.database(), "SELECT 1 FROM event WHERE id = ?");
    row.bind(1, static_cast<std::int64_t>(event->record.id));
    return row.executeStep();
  }
  return false;
}

void oracle::recovered(const records::recovered_state& state) {
  std::string difference;
  auto maybe = std::exchange(uncertain_, {});
  // Events are not part of `state`: a batch with one is on disk if its event is, and with it those before.
  auto last = std::find_if(maybe.rbegin(), maybe.rend(), [&](const auto& b) { return is_on_disk(b.entries); }).base();
  if (last != maybe.begin() && !arrives_one_by_one_) last = maybe.end();
  for (auto batch = maybe.begin(); batch != last; ++batch) committed(batch->entries);
  maybe.erase(maybe.begin(), last);
  if (matches(state, difference)) return;
  std::string second;
  for (const auto& batch : maybe) {
    committed(batch.entries);
    if (arrives_one_by_one_ && matches(state, second)) return;
    second.clear();
  }
  if (maybe.empty() || !matches(state, second))
    world_.violate("store", "a restart does not find what was written: " + (maybe.empty() ? difference : second));
}

} // namespace quell::simulation
