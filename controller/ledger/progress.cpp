// A cancel's way from fenced through signalled to settled, and the counts of its report.
//
// An operation is counted in the same batch as its terminal row, in every open cancel that covers it. So the sums of a
// report hold after any prefix of the journal.
#include <algorithm>
#include <cassert>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

double live_ledger::since_received(const cancel_run& run, moment now) const {
  return std::max(0.0, static_cast<double>((now.boot - run.received).count()) / 1e6);
}

bool live_ledger::is_reachable(index worker) const { return !ask_ || ask_(workers_[worker]).reachable; }

void live_ledger::cancel_fenced(const cancel_id& id, bool durable, moment now) {
  const auto open = run_of_.find(id);
  if (open == run_of_.end()) return;
  cancel_run& run = runs_.at(open->second);
  if (run.is_fenced) return; // a cancel that joined it calls this again
  run.is_fenced = true;
  run.record.durable = durable;
  run.record.report.fenced_ms = since_received(run, now);
  touch(run);
  write_event(event_type::cancel_fenced, run, now);
  check_signalled(run, now);
  check_settled(run.record.seq, now);
}

void live_ledger::check_signalled(cancel_run& run, moment now) {
  if (!run.is_fenced || run.record.report.signalled_ms) return;
  // A silent worker does not delay it: the operations there are listed with their dead-by instant.
  const bool awaits = run.remaining > 0 &&
                      std::any_of(run.awaited.begin(), run.awaited.end(), [this](index w) { return is_reachable(w); });
  if (awaits) return;
  run.record.report.signalled_ms = since_received(run, now);
  if (run.record.status == cancel_status::fenced) run.record.status = cancel_status::signalled;
  touch(run);
  write_event(event_type::cancel_signalled, run, now);
}

void live_ledger::check_settled(std::uint64_t run_seq, moment now) {
  const auto at = runs_.find(run_seq);
  if (at == runs_.end() || at->second.remaining > 0 || !at->second.is_fenced) return;
  cancel_run& run = at->second;
  check_signalled(run, now);
  run.record.status = cancel_status::settled;
  run.record.report.settled_ms = since_received(run, now);
  write_event(event_type::cancel_settled, run, now);
  effects_.journal.emplace_back(records::put_cancel{run.record});
  changed_.insert(run.record.id);
  leave(run);
  run_of_.erase(run.record.id);
  const cancel_id id = run.record.id;
  settled_.put(id, std::move(run.record));
  runs_.erase(at);
}

void live_ledger::tally(index x, receipt how, proof evidence, moment now) {
  std::vector<cancel_run*> runs;
  covering(x, runs);
  for (cancel_run* run : runs) {
    assert(run->remaining > 0);
    --run->remaining;
    ++run->record.report.receipts[static_cast<std::size_t>(how)];
    ++run->record.report.proofs[static_cast<std::size_t>(evidence)];
    run->has_progress = true;
    touch(*run);
    if (run->operation == x) { // the last of its target: no further operation can be found from there
      std::erase(details(x).targets, run);
      run->operation = none;
    }
  }
  for (cancel_run* run : runs) check_settled(run->record.seq, now);
}

void live_ledger::stop_applied(const std::string& worker, std::uint64_t stop_seq, moment now) {
  const auto at = runs_.find(stop_seq);
  const index w = known_worker(worker);
  if (at == runs_.end() || w == none) return;
  if (std::erase(at->second.awaited, w) > 0) check_signalled(at->second, now);
}

void live_ledger::worker_is_done(index worker, moment now) {
  for (auto& [seq, run] : runs_) {
    const auto waits = std::find(run.awaited.begin(), run.awaited.end(), worker);
    if (waits == run.awaited.end()) continue;
    const auto left = held_by(worker);
    if (std::any_of(left.begin(), left.end(), [&, &open = run](index x) { return covers(open, x); })) continue;
    run.awaited.erase(waits);
    check_signalled(run, now);
  }
}

void live_ledger::reachability_changed(const std::string& worker, moment now) {
  const index w = known_worker(worker);
  if (w == none) return;
  for (auto& [seq, run] : runs_)
    if (std::find(run.awaited.begin(), run.awaited.end(), w) != run.awaited.end()) check_signalled(run, now);
}

} // namespace quell::controller::live
