// Compares a worker's report with the ledger when the worker comes (back), and decides what follows if it does not.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

void live_ledger::reconcile(const std::string& worker, const wire::hello& h, bool is_same_life, moment now) {
  const index w = worker_index(worker);
  for (const wire::task_ended& result : h.results) {
    adopt(result.operation, w);
    ended(worker, result, now);
  }
  for (const wire::inventory_item& item : h.inventory) adopt(item.operation, w);
  std::unordered_map<operation_id, const wire::inventory_item*> held_items;
  for (const wire::inventory_item& item : h.inventory) held_items.emplace(item.operation, &item);
  std::unordered_set<operation_id> expected;
  for (const index x : operations_.held_by(w)) {
    const auto item = held_items.find(operations_[x].id);
    if (item != held_items.end()) {
      expected.insert(operations_[x].id);
      take_inventory(x, *item->second, h, now);
    } else {
      missing(x, h, is_same_life, now);
    }
  }
  resend_stops(w, now);
  // Operations that must not live there: they ended here by rule, or were never ours.
  stop_messages strays;
  for (const wire::inventory_item& item : h.inventory)
    if (!expected.contains(item.operation)) strays[w].operations.push_back(item.operation);
  if (!strays.empty()) send(std::move(strays), take_seq(), stop_cause::worker_lost, std::nullopt, milliseconds{0});
  worker_is_done(w, now);
}

void live_ledger::take_inventory(index x, const wire::inventory_item& item, const wire::hello& h, moment now) {
  const bool runs = item.started_at != wall_time{};
  if (!runs || operations_[x].has_begun()) return;
  details(x).pid = item.pid;
  details(x).level = h.level;
  begin(x, item.started_at, now);
}

void live_ledger::missing(index x, const wire::hello& h, bool is_same_life, moment now) {
  if (operations_[x].phase == phase::in_doubt) return not_there(x);
  const bool may_have_run = operations_[x].has_begun() || !is_same_life;
  if (may_have_run) {
    // The level at its start counts, not the worker's present one.
    const auto level = operations_[x].details ? operations_[x].details->level : std::nullopt;
    const bool has_namespace = level == containment::cgroup_pidns || level == containment::pidns;
    if (!h.absence_is_proof && !has_namespace)
      return lose(x, proof::none, receipt::unconfirmed,
                  "its worker knows nothing of it any more; its guardian was killed, so that what is left of it cannot "
                  "be found",
                  now);
    lose(x, proof_of(level.value_or(h.level)), receipt::killed,
         is_same_life ? "its worker knows nothing of it any more"
                      : "its worker was restarted; nothing of it is left there",
         now);
    return;
  }
  if (const auto stop = stop_of(x)) {
    if (!operations_[x].is_stopped()) set_stop(x, *stop, announce::no, now);
    end_own_work(x, stopped_end(x, receipt::never_started, proof::never_ran), now);
    return;
  }
  put_back(x, now);
}

/// Its START never arrived (its session is over, so it never will): it can be placed again.
void live_ledger::put_back(index x, moment now) {
  release(x);
  operations_.name_worker(x, none);
  enter_phase(x, phase::ready);
  operations_[x].since = now.wall;
  write_row(x);
  offer(x);
}

void live_ledger::resend_stops(index worker, moment now) {
  std::map<std::uint64_t, cancel_run*> cancels;
  for (auto& [seq, run] : runs_)
    if (std::find(run.awaited.begin(), run.awaited.end(), worker) != run.awaited.end()) cancels.emplace(seq, &run);
  struct single {
    stop_cause cause;
    wire::stop message;
  };
  std::map<std::uint64_t, single> others;
  std::vector<cancel_run*> covering_runs;
  for (const index x : operations_.held_by(worker)) {
    runs_.covering(x, covering_runs);
    for (cancel_run* run : covering_runs) cancels.emplace(run->record.seq, run);
    const auto stop = stop_of(x);
    if (!stop || stop->cancel) continue;
    single& s = others[stop->seq];
    s.cause = stop->cause;
    s.message.operations.push_back(operations_[x].id);
  }
  for (auto& [seq, s] : others) {
    stop_messages one;
    one[worker] = std::move(s.message);
    send(std::move(one), seq, s.cause, std::nullopt, std::nullopt);
  }
  for (auto& [seq, run] : cancels) {
    send_stops(*run, {worker}, run->record.grace);
    if (run->record.tighter) send_stops(*run, {worker}, run->record.tighter);
    const bool is_new = std::find(run->awaited.begin(), run->awaited.end(), worker) == run->awaited.end();
    if (is_new && !run->record.report.signalled_ms) run->awaited.push_back(worker);
  }
  (void)now;
}

std::optional<boot_time>
live_ledger::lease_expired(const std::string& worker,
                           const std::function<boot_time(std::optional<milliseconds>)>& known_end, moment now) {
  const index w = known_worker(worker);
  std::optional<boot_time> next;
  for (const index x : operations_.held_by(w)) {
    const operation_node& n = operations_[x];
    if (n.phase == phase::in_doubt) continue; // another worker can have it
    const boot_time dead = dead_by(x, known_end(n.details ? n.details->lease : std::nullopt));
    if (dead > now.boot) {
      if (!next || dead < *next) next = dead;
      continue;
    }
    lose(x, proof::lease_expired, receipt::killed, "its worker " + worker + " was silent until its lease was over",
         now);
  }
  if (w != none) worker_is_done(w, now);
  return next;
}

} // namespace quell::controller::live
