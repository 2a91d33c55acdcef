// Rebuilds from disk the state that wrote it. Unwritten parts (sweeps, awaited workers, the children that a parent's
// end stops) are derived again; nothing depends on how far the last life had come.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

live_ledger::live_ledger(ledger_settings s, records::recovered_state recovered, moment now) : settings_(std::move(s)) {
  next_seq_ = std::max<std::uint64_t>(recovered.next_seq, 1);
  seq_limit_ = next_seq_;
  next_event_ = std::max<std::uint64_t>(recovered.next_event, 1);
  began_ = now.boot;
  restored_below_ = recovered.restored_below;
  reserve_seqs();
  recover(recovered, now);
}

void live_ledger::recover(records::recovered_state& recovered, moment now) {
  std::vector<index> live;
  std::vector<records::operation_record> cut_calls;
  recover_operations(recovered, live, cut_calls, now);
  for (const auto& [c, via_token_id] : recovered.cutoffs)
    keep_cutoff(scopes_.find_or_make(c.scope), c.cutoff, c.cancel, via_token_id, now);
  for (const auto& t : recovered.tombstones) {
    tombstones_.put(t);
    expiries_.push({now.boot + std::max(t.expires_at - now.wall, milliseconds{0}), t.id, none, 0});
  }
  for (const auto& c : recovered.open_cancels) recover_cancel(c, now);
  for (const auto& [seq, x] : leases_.notified()) recover_grace(x, now);
  recover_costs(recovered, cut_calls, now);
  recover_supersede();
  interrupt_actors(now);

  // Interrupted work can have ended. Nothing enters the table meanwhile, so its slots are free.
  std::erase_if(live, [this](index x) { return operations_[x].seq == 0; });
  for (const index x : live) {
    if (operations_[x].live_below == 1) continue;
    if (operations_[x].is_over()) stop_children(x, now);
    if (operations_[x].is_stopped()) queue_below(x);
  }
  for (const index x : live)
    if (!stop_of(x)) offer(x);

  std::vector<cancel_id> open;
  for (const auto& [seq, run] : runs_) open.push_back(run.record.id);
  for (const cancel_id& id : open) {
    cancel_run& run = *runs_.find(id);
    if (run.remaining > 0) queue_sweep(run);
    if (!run.is_fenced) {
      cancel_fenced(id, run.record.durable, now);
      continue;
    }
    check_signalled(run, now);
    check_settled(run.record.seq, now);
  }
  effects_.stops.clear(); // no worker has a session yet; each gets its stops again when it comes
}

/// Of the records only those of model calls are kept that nobody will end.
void live_ledger::recover_operations(records::recovered_state& recovered, std::vector<index>& live,
                                     std::vector<records::operation_record>& cut_calls, moment now) {
  auto some = std::move(recovered.live);
  do {
    for (auto& r : some) {
      live.push_back(recover_operation(r, now));
      if (r.kind == quell::kind::model_call && !r.hot.self_status) cut_calls.push_back(std::move(r));
    }
    some = recovered.more_live ? recovered.more_live() : std::vector<records::operation_record>();
  } while (!some.empty());
}

index live_ledger::recover_operation(const records::operation_record& r, moment now) {
  const index x = add_operation(r);
  operation_node& n = operations_[x];
  const records::operation_hot& hot = r.hot;
  operations_.set_status(x, hot.now);
  if (hot.started_at) {
    operations_.set_phase(x, phase::begun);
    n.since = *hot.started_at;
    n.spec.reset();
    operations_.wait_no_more(x);
  } else if (n.external) {
    note_waiting(n.id, "start", "waits for its owner to start it", now);
  } else if (n.kind != quell::kind::task) {
    note_waiting(n.id, "turn", "waits for its turn", now);
  }
  const bool is_unasked = hot.now == status::paused && !question_in(hot); // a human was asked whether it may run
  if (n.is_of_server && hot.started_at && !is_unasked) details(x).works_elsewhere = true;
  if (n.now == status::paused) operations_.wait_for(x, approval_reason());
  const bool has_details = hot.stop || hot.exit || hot.error || hot.self_status || hot.level || hot.deadline_at ||
                           hot.pid != 0 || hot.output != quell::output_counts{} || !hot.result.empty();
  if (has_details) {
    operation_details& d = details(x);
    d.exit = hot.exit;
    d.error = hot.error;
    d.level = hot.level;
    d.pid = hot.pid;
    d.output = hot.output;
    d.result = hot.result;
    if (auto open_question = question_in(hot)) {
      d.question = std::make_unique<paused_question>(std::move(*open_question));
      d.result.clear();
      operations_.wait_for(x, answer_reason());
    }
    if (n.kind == quell::kind::turn && !hot.self_status) {
      const auto counted = read_resumes_row(hot.result);
      n.resumes = counted.resumes;
      n.waits = counted.waits;
      d.result.clear();
    }
    d.deadline_at = hot.deadline_at;
  }
  if (hot.self_status) {
    operations_.set_phase(x, end_of(n.phase));
    n.self_status = *hot.self_status;
    n.spec.reset();
    if (hot.stop) {
      details(x).end_how = hot.stop->how;
      details(x).end_evidence = hot.stop->evidence;
    }
    if (hot.self_evidence) details(x).end_evidence = hot.self_evidence;
  }
  if (hot.stop) {
    operations_.mark_stopped(x);
    details(x).stop = hot.stop;
    if (n.kind != quell::kind::task && !n.external && !n.is_over())
      timers_.push({now.boot + n.grace + std::chrono::seconds{10}, x, n.seq, timer::purpose::unconfirmed});
  }
  if (n.external) recover_external(x, now);
  // A wall clock that was set back meanwhile must not make the timeout longer than it was at the start.
  if (hot.deadline_at && !n.is_over())
    set_deadline(x, now.boot + std::clamp(*hot.deadline_at - now.wall, milliseconds{0}, r.timeout));
  if (n.seq < restored_below_ && n.kind == quell::kind::task && !n.has_begun() && !n.is_over()) doubt(x, now);
  if (!hot.worker) return x;
  const index w = worker_index(*hot.worker);
  if (n.is_over()) {
    operations_.name_worker(x, w);
    return x;
  }
  if (n.phase == phase::ready) enter_phase(x, phase::sent);
  operations_.hold(x, w);
  return x;
}

void live_ledger::recover_cancel(const records::cancel_record& r, moment now) {
  if (r.status == cancel_status::settled) return;
  // Nor can it make the report's times run backwards.
  const double reached = std::max(r.report.fenced_ms.value_or(0), r.report.signalled_ms.value_or(0));
  const boot_time received =
      now.boot - std::max<std::chrono::nanoseconds>(now.wall - r.created_at,
                                                    std::chrono::nanoseconds(std::llround(reached * 1e6)));
  cancel_run draft = runs_.draft(received, r);
  const std::uint64_t covered = runs_.covered_list(draft).size();
  cancel_run& run = runs_.open(std::move(draft), covered);
  run.is_fenced = run.record.report.fenced_ms.has_value();
  run.last_progress = now.boot;
  raise_cutoff(run, now); // already there, unless a full disk refused the batch that accepted the cancel
  // Operations whose end a full disk refused, and which had ended when the cancel came: they are covered and counted
  // after all.
  const auto& counted = run.record.report.receipts;
  const auto operations = std::accumulate(counted.begin(), counted.end(), covered);
  if (operations != run.record.report.operations) {
    run.record.report.operations = operations;
    runs_.touch(run);
  }
  if (!run.record.report.signalled_ms) run.awaited = runs_.workers_below(run, next_seq_);
}

void live_ledger::recover_supersede() {
  for (const auto& [key, live] : operations_.by_key())
    for (std::size_t i = 1; i < live.size(); ++i) {
      if (!operations_.never_sent(live[i])) continue;
      enter_phase(live[i], phase::behind_older);
      operations_.wait_for(live[i], {"start", "waits for the end of what it supersedes"});
    }
}

} // namespace quell::controller::live
