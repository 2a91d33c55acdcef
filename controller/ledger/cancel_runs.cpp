// Cancels are drafted, opened, counted and settled.
#include "controller/ledger/cancel_runs.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace quell::controller::live {

cancel_run* cancel_runs::find(std::uint64_t seq) {
  const auto at = runs_.find(seq);
  return at == runs_.end() ? nullptr : &at->second;
}

const cancel_run* cancel_runs::find(std::uint64_t seq) const {
  const auto at = runs_.find(seq);
  return at == runs_.end() ? nullptr : &at->second;
}

cancel_run* cancel_runs::find(const cancel_id& id) {
  const auto at = run_of_.find(id);
  return at == run_of_.end() ? nullptr : find(at->second);
}

const cancel_run* cancel_runs::find(const cancel_id& id) const {
  const auto at = run_of_.find(id);
  return at == run_of_.end() ? nullptr : find(at->second);
}

const records::cancel_record* cancel_runs::record_of(const cancel_id& id) const {
  if (const cancel_run* open = find(id)) return &open->record;
  return settled_.find(id);
}

std::size_t cancel_runs::open_over(const scope_path& scope, const std::string& owner) const {
  if (runs_.empty()) return 0;
  index at = none;
  for (std::optional<scope_path> above = scope; above && at == none; above = above->parent())
    at = scopes_.find(above->text());
  if (at == none) at = scope_tree::root;
  const index theirs = operations_.find_owner(owner);
  std::size_t found = 0;
  for (; at != none; at = scopes_[at].parent) {
    found += scopes_[at].cancels.size();
    const auto of_owner = theirs == none ? broad_.end() : broad_.find({at, theirs});
    if (of_owner != broad_.end()) found += of_owner->second.size();
    if (const auto of_all = broad_.find({at, none}); of_all != broad_.end()) found += of_all->second.size();
  }
  return found;
}

cancel_run cancel_runs::draft(boot_time received, records::cancel_record r) {
  cancel_run run;
  run.received = received;
  if (const auto* o = std::get_if<records::target_operation>(&r.target)) {
    run.operation = operations_.find(o->id);
    if (run.operation != none) {
      run.operation_seq = operations_[run.operation].seq;
      run.event_scope = scopes_[operations_[run.operation].scope].path;
      index root = run.operation;
      while (operations_.parent_of(root) != none) root = operations_.parent_of(root);
      run.event_root = operations_[root].id;
      if (operations_[run.operation].as_of > r.cutoff) run.operation = none; // not live yet at up_to_seq
    }
  } else {
    const auto within = [&](const std::optional<scope_path>& below) {
      return below ? scopes_.find_or_make(*below) : scope_tree::root;
    };
    if (const auto* s = std::get_if<records::target_scope>(&r.target)) run.scope = within(s->scope);
    if (const auto* w = std::get_if<records::target_owner>(&r.target)) {
      run.scope = within(w->below);
      run.owner = operations_.hold_owner(w->owner);
    }
    if (const auto* e = std::get_if<records::target_everything>(&r.target)) run.scope = within(e->below);
    ++scopes_[run.scope].holders;
    if (run.scope != scope_tree::root) run.event_scope = scopes_[run.scope].path;
  }
  run.record = std::move(r);
  return run;
}

void cancel_runs::drop(const cancel_run& draft) {
  if (draft.owner != none) operations_.release_owner(draft.owner);
  if (draft.scope == none) return;
  --scopes_[draft.scope].holders;
  scopes_.release_unused(draft.scope);
}

cancel_run* cancel_runs::joinable(const cancel_run& fresh, std::uint64_t covered) const {
  if (covered == 0)
    return nullptr; // nothing is being stopped there: only the cutoff counts, and it must be the new one
  cancel_run* newest = nullptr;
  const auto consider = [&](cancel_run* run) {
    if (run->record.target == fresh.record.target && (newest == nullptr || run->record.cutoff > newest->record.cutoff))
      newest = run;
  };
  if (fresh.operation != none) {
    const auto& more = operations_[fresh.operation].details;
    if (more)
      for (cancel_run* run : more->targets) consider(run);
  } else if (fresh.is_scope()) {
    for (cancel_run* run : scopes_[fresh.scope].cancels) consider(run);
  } else if (const auto at = broad_.find({fresh.scope, fresh.owner}); at != broad_.end()) {
    for (cancel_run* run : at->second) consider(run);
  }
  if (newest == nullptr || newest->remaining == 0) return nullptr;
  const bool covers_all = newest->record.cutoff >= fresh.record.cutoff || newest->remaining == covered;
  return covers_all ? newest : nullptr;
}

cancel_run& cancel_runs::open(cancel_run draft, std::uint64_t covered) {
  const std::uint64_t seq = draft.record.seq;
  cancel_run& run = runs_.emplace(seq, std::move(draft)).first->second;
  run.remaining = covered;
  run_of_.emplace(run.record.id, seq);
  enter(run);
  return run;
}

void cancel_runs::enter(cancel_run& run) {
  if (run.operation != none) {
    operations_.details(run.operation).targets.push_back(&run);
  } else if (run.is_scope()) {
    scopes_[run.scope].cancels.push_back(&run);
    ++scope_cancels_;
  } else if (run.is_broad()) {
    broad_[{run.scope, run.owner}].push_back(&run);
  }
}

void cancel_runs::leave(cancel_run& run) {
  if (run.operation != none) std::erase(operations_.details(run.operation).targets, &run);
  if (run.is_scope()) {
    std::erase(scopes_[run.scope].cancels, &run);
    --scope_cancels_;
  }
  if (run.is_broad()) {
    const auto at = broad_.find({run.scope, run.owner});
    std::erase(at->second, &run);
    if (at->second.empty()) broad_.erase(at);
  }
  drop(run);
}

std::vector<cancel_run*> cancel_runs::count_end(index x, receipt how, proof evidence) {
  std::vector<cancel_run*> runs;
  covering(x, runs);
  for (cancel_run* run : runs) {
    assert(run->remaining > 0);
    --run->remaining;
    ++run->record.report.receipts[static_cast<std::size_t>(how)];
    ++run->record.report.proofs[static_cast<std::size_t>(evidence)];
    if (!run->has_progress) {
      run->has_progress = true;
      progressing_.insert(run->record.seq);
    }
    touch(*run);
    if (run->operation == x) { // the last of its target: no further operation can be found from there
      std::erase(operations_.details(x).targets, run);
      run->operation = none;
    }
  }
  return runs;
}

void cancel_runs::clear_progress(cancel_run& run, boot_time now) {
  run.has_progress = false;
  run.last_progress = now;
  progressing_.erase(run.record.seq);
}

void cancel_runs::settle(cancel_run& run) {
  changed_.insert(run.record.id);
  progressing_.erase(run.record.seq);
  leave(run);
  run_of_.erase(run.record.id);
  const std::uint64_t seq = run.record.seq;
  const cancel_id id = run.record.id;
  settled_.put(id, std::move(run.record));
  runs_.erase(seq);
}

void cancel_runs::touch(cancel_run& run) {
  if (run.is_dirty) return;
  run.is_dirty = true;
  dirty_.insert(run.record.seq);
}

void cancel_runs::take_changes(std::vector<records::entry>& journal, std::vector<cancel_id>& changed) {
  for (const std::uint64_t seq : dirty_) {
    cancel_run* run = find(seq);
    if (run == nullptr) continue; // settled meanwhile: its last row is already written
    run->is_dirty = false;
    journal.emplace_back(records::put_cancel{run->record});
    changed_.insert(run->record.id);
  }
  dirty_.clear();
  changed.assign(changed_.begin(), changed_.end());
  changed_.clear();
}

bool cancel_runs::is_entered_once(const cancel_run& run) const {
  const auto times = [&](const std::vector<cancel_run*>& in) { return std::count(in.begin(), in.end(), &run); };
  if (run.is_broad()) {
    const auto at = broad_.find({run.scope, run.owner});
    return at != broad_.end() && times(at->second) == 1;
  }
  if (run.is_scope()) return times(scopes_[run.scope].cancels) == 1;
  if (run.operation == none) return true;
  const auto& more = operations_[run.operation].details;
  return operations_.is_same(run.operation, run.operation_seq) && more && times(more->targets) == 1;
}

void cancel_runs::check(std::vector<std::string>& broken) const {
  std::size_t of_operations = 0, of_scopes = 0, of_broad = 0, entered = 0, entered_at_scopes = 0;
  for (const auto& [seq, run] : runs_) {
    const std::string name = "cancel " + run.record.id.text();
    const auto id = run_of_.find(run.record.id);
    if (run.record.seq != seq || id == run_of_.end() || id->second != seq)
      broken.push_back(name + " is not found by its id");
    if (!is_entered_once(run)) {
      broken.push_back(name + " is not entered where its target says");
      continue;
    }
    if (run.is_broad()) ++of_broad;
    if (run.is_scope()) ++of_scopes;
    if (run.operation != none) ++of_operations;
    if (run.remaining != covered_list(run).size()) broken.push_back(name + " miscounts what it still covers");
    const auto& counted = run.record.report.receipts;
    const std::uint64_t remaining = run.remaining;
    if (std::accumulate(counted.begin(), counted.end(), remaining) != run.record.report.operations)
      broken.push_back(name + " has a report that does not add up");
    if (run.has_progress != progressing_.contains(seq)) broken.push_back(name + " is wrongly listed as progressing");
    if (run.is_dirty != dirty_.contains(seq)) broken.push_back(name + " is dirty and not written, or the reverse");
    if (run.scope != none && scopes_[run.scope].holders == 0) broken.push_back(name + " does not hold its scope");
  }
  for (index x = 0; x < operations_.end_index(); ++x)
    if (operations_[x].details) entered += operations_[x].details->targets.size();
  entered_at_scopes = scopes_[scope_tree::root].cancels.size();
  for (const auto& [text, scope] : scopes_.by_text()) entered_at_scopes += scopes_[scope].cancels.size();
  std::size_t entered_as_broad = 0;
  for (const auto& [key, runs] : broad_) entered_as_broad += runs.size();
  if (run_of_.size() != runs_.size()) broken.push_back("an id names a cancel that is not open");
  if (entered != of_operations || entered_at_scopes != of_scopes || entered_as_broad != of_broad)
    broken.push_back("a cancel is entered that is not open");
  if (scope_cancels_ != of_scopes) broken.push_back("the open cancels of scopes are miscounted");
}

} // namespace quell::controller::live
