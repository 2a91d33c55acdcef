// A cancel's way from fenced through signalled to settled, and the counts of its report.
//
// An operation is counted in the same batch as its terminal row, in every open cancel that covers it. So the sums of a
// report hold after any prefix of the journal.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

double live_ledger::since_received(const cancel_run& run, moment now) const {
  return std::max(0.0, static_cast<double>((now.boot - run.received).count()) / 1e6);
}

bool live_ledger::is_reachable(index worker) const { return !ask_ || ask_(workers_[worker]).reachable; }

void live_ledger::cancel_fenced(const cancel_id& id, bool is_durable, moment now) {
  cancel_run* open = runs_.find(id);
  if (open == nullptr) return;
  cancel_run& run = *open;
  if (run.is_fenced) return; // a cancel that joined it calls this again
  run.is_fenced = true;
  run.record.durable = is_durable;
  run.record.report.fenced_ms = since_received(run, now);
  runs_.touch(run);
  write_event(event_type::cancel_fenced, run, now);
  give_late_grace(run, now);
  silence_exchanges(run, now);
  open = runs_.find(id);
  if (open == nullptr) return;
  check_signalled(*open, now);
  check_settled(open->record.seq, now);
}

/// Exchanges do not wait for the sweep, which goes on only as fast as the journal and comes to the newest operations
/// last: the sound that leaves meanwhile cannot be taken back.
void live_ledger::silence_exchanges(const cancel_run& run, moment now) {
  std::vector<std::pair<index, std::uint64_t>> covered;
  for (const index x : operations_.exchanges())
    if (!operations_[x].is_stopped() && runs_.covers(run, x)) covered.emplace_back(x, operations_[x].seq);
  for (const auto& [x, seq] : covered)
    if (is_same(x, seq)) visit(x, now);
}

void live_ledger::check_signalled(cancel_run& run, moment now) {
  if (!run.is_fenced || run.record.report.signalled_ms) return;
  // A silent worker does not delay it: the operations there are listed with their dead-by instant.
  const bool awaits = run.remaining > 0 &&
                      std::any_of(run.awaited.begin(), run.awaited.end(), [this](index w) { return is_reachable(w); });
  if (awaits) return;
  run.record.report.signalled_ms = since_received(run, now);
  if (run.record.status == cancel_status::fenced) run.record.status = cancel_status::signalled;
  runs_.touch(run);
  write_event(event_type::cancel_signalled, run, now);
}

void live_ledger::check_settled(std::uint64_t run_seq, moment now) {
  cancel_run* open = runs_.find(run_seq);
  if (open == nullptr || open->remaining > 0 || !open->is_fenced) return;
  cancel_run& run = *open;
  check_signalled(run, now);
  run.record.status = cancel_status::settled;
  run.record.report.settled_ms = since_received(run, now);
  write_event(event_type::cancel_settled, run, now);
  effects_.journal.emplace_back(records::put_cancel{run.record});
  runs_.settle(run);
}

void live_ledger::tally(index x, receipt how, proof evidence, moment now) {
  const std::vector<cancel_run*> counted = runs_.count_end(x, how, evidence);
  for (const cancel_run* run : counted)
    if (run->remaining == 0) check_settled(run->record.seq, now); // which removes it, and no other one
}

void live_ledger::stop_applied(const std::string& worker, std::uint64_t stop_seq, moment now) {
  cancel_run* run = runs_.find(stop_seq);
  const index w = known_worker(worker);
  if (run == nullptr || w == none) return;
  if (std::erase(run->awaited, w) > 0) check_signalled(*run, now);
}

void live_ledger::worker_is_done(index worker, moment now) {
  for (auto& [seq, run] : runs_) {
    const auto waits = std::find(run.awaited.begin(), run.awaited.end(), worker);
    if (waits == run.awaited.end()) continue;
    const auto left = operations_.held_by(worker);
    if (std::any_of(left.begin(), left.end(), [&, &open = run](index x) { return runs_.covers(open, x); })) continue;
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
