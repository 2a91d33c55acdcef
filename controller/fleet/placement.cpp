// The queues of pending tasks: order, choice of a worker, reservations, and the removal of stale entries.
#include "controller/fleet/placement.hpp"

#include <algorithm>
#include <utility>

namespace quell::controller {

namespace {
constexpr std::size_t max_drops = 10'000;   // stale heads dropped per call: about a millisecond
constexpr std::size_t guilds_in_a_drop = 8; // guilds that a choice looks at in the time of one drop
constexpr std::size_t max_notes = 4096;     // waiting tasks that receive their reason per call
constexpr const char* no_room = "its guild, or the token that started it, holds as many slots as it may "
                                "(limits.slots_per_guild, or slots of its [[place]])";
} // namespace

void placement::enqueue(const requirement& need, const std::vector<operation_id>& ids) {
  auto of_no_line = need;
  of_no_line.guild_queue = 0;
  of_no_line.author_queue = 0;
  auto [found, is_new] = queues_.try_emplace(std::move(of_no_line));
  waiting_queue& q = found->second;
  if (is_new) q.need = &found->first;
  const bool are_most_new = q.entries.size() <= ids.size();
  q.entries.push({need.guild_queue, need.author_queue}, ids, arrivals_);
  if (are_most_new) swept(q);
  const bool had_head = q.entries.has_head();
  q.entries.choose(turns_);
  if (!had_head && q.entries.has_head()) return make_ready(q);
  notes_due_ = notes_due_ || q.blocked || q.entries.resting() > 0;
  if (q.entries.size() >= q.sweep_at) sweep(q);
}

void placement::roster_changed(const member* gone) {
  ++roster_version_;
  retry_ = true;
  for (auto& [need, q] : queues_) {
    if (gone && q.reserved == gone) release(q);
    if (gone) q.candidates.clear();
  }
}

bool placement::place(moment now, const std::function<void(member&, wire::start)>& start) {
  change_lines();
  wake_rested();
  if (retry_) {
    retry_ = false;
    for (auto& [need, q] : queues_)
      if (q.blocked && q.entries.has_head()) make_ready(q);
  }
  std::size_t drops = max_drops;
  std::size_t starts = 0;
  while (!ready_.empty() && starts < max_starts && drops > 0) {
    waiting_queue& q = *ready_.begin()->second;
    const auto head = q.head();
    if (!drop_stale_heads(q, drops)) continue;
    if (q.head() != head) continue; // another queue can have the oldest head now
    if (!ledger_.may_take_slots(q.entries.front().id)) {
      rest(q);
      drops -= std::min(drops, 1 + q.entries.guilds() / guilds_in_a_drop);
      continue;
    }
    refresh_candidates(q);
    member* worker = choose(q);
    if (!worker) {
      block(q);
      continue;
    }
    const operation_id id = q.entries.front().id;
    auto order = ledger_.assign(id, worker->name(), now);
    ready_.erase({head, &q});
    turns_.placed(q.entries.turn());
    pop_head(q);
    if (q.entries.empty())
      forget(q);
    else
      go_on(q);
    if (!order) continue;
    worker->used = ledger_.slots_on(worker->name());
    worker->live = ledger_.live_on(worker->name());
    ++placements_;
    ++starts;
    start(*worker, std::move(*order));
  }
  note_waiting(now);
  return retry_ || !ready_.empty();
}

std::size_t placement::queued() const {
  std::size_t sum = 0;
  for (const auto& [need, q] : queues_) sum += q.entries.size();
  return sum;
}

void placement::make_ready(waiting_queue& q) {
  q.blocked = false;
  ready_.insert({q.head(), &q});
}

void placement::go_on(waiting_queue& q) {
  if (q.entries.has_head()) return make_ready(q);
  q.blocked = true;
  notes_due_ = true;
}

void placement::rest(waiting_queue& q) {
  ready_.erase({q.head(), &q});
  q.head_was_blocked = false;
  release(q);
  q.entries.rest(turns_);
  notes_due_ = true;
  go_on(q);
}

void placement::wake_rested() {
  const auto room = ledger_.guild_room();
  if (room == std::exchange(room_seen_, room)) return;
  for (auto& [need, q] : queues_) {
    const bool had_head = q.entries.has_head();
    notes_due_ = notes_due_ || q.entries.resting() > 0;
    q.entries.wake(turns_);
    if (!had_head && q.entries.has_head()) make_ready(q);
  }
}

void placement::change_lines() {
  const auto moves = ledger_.moves_of_lines();
  if (moves == std::exchange(lines_seen_, moves)) return;
  std::vector<fair_queues::entry> all;
  for (auto& [need, q] : queues_) {
    release(q);
    q.entries.empty_into(all, turns_);
  }
  ready_.clear();
  queues_.clear();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (const auto& one : all)
    if (const auto* need = ledger_.need_of(one.id)) enqueue(*need, {one.id});
}

void placement::forget(waiting_queue& q) {
  release(q);
  queues_.erase(queues_.find(*q.need));
}

void placement::pop_head(waiting_queue& q) {
  q.entries.pop();
  q.entries.choose(turns_);
  q.head_was_blocked = false;
  release(q);
}

// False if the queue is gone or the budget ran out. Call it only for the first entry of `ready_`; it keeps the queue's
// position there correct.
bool placement::drop_stale_heads(waiting_queue& q, std::size_t& budget) {
  const auto is_stale = [this](const operation_id& id) { return !ledger_.is_placeable(id); };
  if (!is_stale(q.entries.front().id)) return true;
  ready_.erase({q.head(), &q});
  q.head_was_blocked = false;
  release(q);
  while (q.entries.has_head() && budget > 0 && is_stale(q.entries.front().id)) {
    q.entries.drop_stale(turns_, budget, is_stale);
    budget -= std::min(budget, q.entries.guilds() / guilds_in_a_drop);
  }
  if (q.entries.empty()) {
    forget(q);
    return false;
  }
  go_on(q);
  return q.entries.has_head() && budget > 0;
}

void placement::refresh_candidates(waiting_queue& q) {
  if (q.roster_version == roster_version_) return;
  q.roster_version = roster_version_;
  q.candidates.clear();
  for (auto& [name, m] : workers_)
    if (m.takes_work() && matches(*q.need, m)) q.candidates.push_back(&m);
  if (q.reserved && std::find(q.candidates.begin(), q.candidates.end(), q.reserved) == q.candidates.end()) release(q);
}

member* placement::choose(const waiting_queue& q) const {
  member* best = nullptr;
  for (member* m : q.candidates) {
    if (!m->takes_work()) continue; // its session can have ended within this very transaction
    if (m->reserved_for && m->reserved_for != &q && q.need->slots > 0) continue;
    if (m->link->unacknowledged_starts() >= std::size_t{m->record.slots} + max_unacknowledged) continue;
    if (q.need->slots > m->free_slots()) continue;
    const bool better = !best || m->free_slots() > best->free_slots() ||
                        (m->free_slots() == best->free_slots() && m->live < best->live);
    if (better) best = m;
  }
  return best;
}

void placement::block(waiting_queue& q) {
  ready_.erase({q.head(), &q});
  q.blocked = true;
  if (!q.head_was_blocked) {
    q.head_was_blocked = true;
    q.passed_over_since = placements_;
  }
  if (!q.reserved && placements_ - q.passed_over_since >= least_rounds) reserve(q);
  auto [what, detail] = reason(q);
  if (what != q.what || detail != q.detail) {
    q.what = std::move(what);
    q.detail = std::move(detail);
    q.entries.forget_notes();
  }
  notes_due_ = notes_due_ || !q.entries.all_noted();
}

void placement::reserve(waiting_queue& q) {
  member* best = nullptr;
  for (member* m : q.candidates)
    if (!m->reserved_for && (!best || m->free_slots() > best->free_slots())) best = m;
  if (!best) return;
  best->reserved_for = &q;
  q.reserved = best;
}

void placement::release(waiting_queue& q) {
  if (!q.reserved) return;
  q.reserved->reserved_for = nullptr;
  q.reserved = nullptr;
  retry_ = true; // for tasks that were kept off that worker
}

void placement::sweep(waiting_queue& q) {
  q.entries.sweep([this](const operation_id& id) { return !ledger_.is_placeable(id); }); // `ready_` refers to the head
  swept(q);
}

void placement::swept(waiting_queue& q) { q.sweep_at = std::max<std::size_t>(1024, 2 * q.entries.size()); }

// Each entry receives its reason once, and again when its queue's reason has changed; a long queue takes several
// transactions.
void placement::note_waiting(moment now) {
  if (!notes_due_) return;
  notes_due_ = false;
  std::size_t budget = max_notes;
  for (auto& [need, queue] : queues_) {
    auto& q = queue; // clang's lambdas cannot refer to a part of a pair
    // Only what was tried without finding a worker has the queue's reason.
    const bool is_tried = q.blocked && q.entries.has_head();
    if (!is_tried && q.entries.resting() == 0) continue;
    const bool is_done =
        q.entries.note(budget, is_tried ? fair_queues::notes::of_all : fair_queues::notes::of_resting,
                       [&](const operation_id& id, bool rests) {
                         ledger_.note_waiting(id, rests ? "slot" : q.what, rests ? no_room : q.detail, now);
                       });
    notes_due_ = notes_due_ || !is_done;
  }
}

std::pair<std::string, std::string> placement::reason(const waiting_queue& q) const {
  if (q.candidates.empty()) return {"worker", nobody_can(*q.need, workers_)};
  if (q.need->slots <= 1) return {"slot", "all slots of matching workers are taken"};
  return {"slot", "no matching worker has " + std::to_string(q.need->slots) + " free slots"};
}

} // namespace quell::controller
