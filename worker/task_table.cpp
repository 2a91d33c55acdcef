// The task table: starts, stops, queue, hello. Guardian events are handled in task_table_ends.cpp.
#include "worker/task_table.hpp"

#include <algorithm>

namespace quell::worker {

using namespace std::chrono_literals;

namespace {
constexpr auto first_look = 500ms;
constexpr std::size_t looks_per_tick = 64;
constexpr milliseconds longest_grace_beyond_limits = 2s;
} // namespace

task_table::task* task_table::find(const operation_id& operation) {
  const auto it = tasks_.find(operation);
  return it == tasks_.end() ? nullptr : &it->second;
}

void task_table::start(wire::start order, moment now, effects& out) {
  // A repeat never runs a second time, not even after its result was stored.
  if (tasks_.contains(order.operation) || forgotten_.contains(order.operation)) return;
  if (tasks_.size() >= settings_.most_tasks) return;
  task& t = tasks_[order.operation];
  ++live_;
  t.operation = order.operation;
  t.as_of = order.as_of;
  t.scope = order.scope;
  t.ancestors = order.ancestors;
  t.slots = order.spec.slots;
  t.pty = order.spec.pty;
  t.cooperative_stop = order.spec.cooperative_stop;
  t.leader_exit = order.spec.leader_exit;
  t.lease = order.spec.lease;
  t.grace = std::clamp<milliseconds>(order.grace, 0ms, settings_.longest_grace);
  if (const auto seq = applied_stops_.covers(t.operation, t.ancestors, t.scope, t.as_of))
    return end_unrun(t, *seq, std::nullopt, "", now, out);
  if (leaving_)
    return end_unrun(t, 0, failure_code::worker_lost, "the worker was leaving when the task came; it never ran", now,
                     out);
  if (t.slots > settings_.slots)
    return end_unrun(t, 0, failure_code::start_failed,
                     "the task asks for " + std::to_string(t.slots) + " slots, the worker has " +
                         std::to_string(settings_.slots) + "; ask for fewer or start the worker with more --slots",
                     now, out);
  if (order.spec.least_containment && !at_least(settings_.level, *order.spec.least_containment))
    return end_unrun(t, 0, failure_code::start_failed,
                     "the task asks for containment " + std::string(name_of(*order.spec.least_containment)) +
                         " or better, the worker has " + std::string(name_of(settings_.level)),
                     now, out);
  t.order = std::move(order);
  queue_.push_back(t.operation);
}

bool task_table::touched_by(const task& t, const wire::stop& s, const std::unordered_set<operation_id>& closed) const {
  if (closed.contains(t.operation)) return true;
  if (s.scope && t.as_of <= s.cutoff && t.scope.is_at_or_below(*s.scope)) return true;
  return std::any_of(t.ancestors.begin(), t.ancestors.end(), [&](const auto& a) { return closed.contains(a); });
}

void task_table::stop(const wire::stop& s, moment now, effects& out) {
  applied_stops_.record(s);
  std::unordered_set<operation_id> closed(s.operations.begin(), s.operations.end());
  std::vector<task*> covered;
  // A task covered by the scope's cutoff takes the tasks below it along, whatever their as_of: repeat until nothing is
  // added.
  std::unordered_set<const task*> seen;
  for (bool grew = true; grew;) {
    grew = false;
    for (auto& [id, t] : tasks_) {
      if (t.at == phase::ended || seen.contains(&t) || !touched_by(t, s, closed)) continue;
      seen.insert(&t);
      covered.push_back(&t);
      grew |= closed.insert(id).second;
    }
  }
  for (const task* t : covered) applied_stops_.close(t->operation, s.seq);
  // Oldest first, so that a run with the same frames acts in the same order.
  std::sort(covered.begin(), covered.end(), [](const task* a, const task* b) { return a->operation < b->operation; });
  effects messages;
  effects done;
  for (task* t : covered) apply(*t, s.seq, s.grace.value_or(t->grace), now, done);
  // Signals are sent before reports.
  for (auto& e : done) (std::holds_alternative<tell>(e) ? messages : out).push_back(std::move(e));
  for (auto& e : messages) out.push_back(std::move(e));
}

void task_table::apply(task& t, std::uint64_t seq, milliseconds grace, moment now, effects& out) {
  grace = std::clamp<milliseconds>(grace, 0ms, settings_.longest_grace);
  switch (t.at) {
  case phase::queued:
    return end_unrun(t, seq, std::nullopt, "", now, out);
  case phase::spawning:
  case phase::held:
    if (!t.stop) {
      t.stop = applied_stop{seq, now, now.boot, std::nullopt, now.boot};
      out.push_back(stop_request{t.operation, now.boot, std::nullopt});
    } else if (t.stop->seq == 0) {
      t.stop->seq = seq;
      t.stop->by_controller_at = now.boot;
    }
    return;
  case phase::running:
    return tighten(t, seq, grace, now, out);
  case phase::draining:
  case phase::ended:
    return; // its end was seen first
  }
}

void task_table::tighten(task& t, std::uint64_t seq, milliseconds grace, moment now, effects& out) {
  const boot_time kill_at = now.boot + grace;
  std::optional<boot_time> signal_at;
  if ((t.pty || t.cooperative_stop) && grace > 0ms) signal_at = now.boot + std::chrono::nanoseconds{grace} / 2;
  const bool first = !t.stop;
  const bool claimed =
      t.stop && t.stop->seq == 0 && seq != 0; // the worker was leaving; now the controller's stop takes over
  if (!first && !claimed && kill_at >= t.stop->kill_at) return;
  if (first) {
    t.stop = applied_stop{seq, now, kill_at, signal_at, now.boot};
    if (signal_at && t.pty) out.push_back(hang_up{t.operation});
  } else {
    if (claimed) {
      t.stop->seq = seq;
      t.stop->by_controller_at = now.boot;
    }
    t.stop->kill_at = std::min(t.stop->kill_at, kill_at);
    if (t.stop->signal_at) t.stop->signal_at = std::min(*t.stop->signal_at, signal_at.value_or(now.boot));
  }
  out.push_back(stop_request{t.operation, t.stop->kill_at, t.stop->signal_at});
  if (now.boot + first_look < t.stop->kill_at) looks_.emplace(now.boot + first_look, t.operation);
  if (t.stop->seq != 0)
    out.push_back(tell{wire::task_stopping{t.operation, t.stop->seq, t.stop->at.wall, now.wall_at(t.stop->kill_at)}});
}

void task_table::results_stored(const wire::results_stored& stored) {
  for (const auto& operation : stored.operations) {
    const task* t = find(operation);
    if (t && t->at == phase::ended) forget(operation);
  }
}

void task_table::forget(const operation_id& operation) {
  tasks_.erase(operation);
  if (!forgotten_.insert(operation).second) return;
  forgotten_by_age_.push_back(operation);
  if (forgotten_by_age_.size() > settings_.remembered) {
    forgotten_.erase(forgotten_by_age_.front());
    forgotten_by_age_.pop_front();
  }
}

void task_table::pump(moment now, std::size_t most, effects& out) {
  while (most > 0 && !queue_.empty()) {
    task* t = find(queue_.front());
    if (!t || t->at != phase::queued) { // stopped while it waited
      queue_.pop_front();
      continue;
    }
    if (lease_.over(now.boot, t->lease)) {
      queue_.pop_front();
      end_unrun(*t, 0, failure_code::worker_lost, lease_message(*t, now) + "; the task never ran", now, out);
      continue;
    }
    if (slots_used_ + t->slots > settings_.slots) return;
    queue_.pop_front();
    slots_used_ += t->slots;
    t->at = phase::spawning;
    out.push_back(spawn_task{std::move(*t->order)});
    t->order.reset();
    --most;
  }
}

bool task_table::pumpable() const {
  if (queue_.empty()) return false;
  const auto it = tasks_.find(queue_.front());
  return it == tasks_.end() || it->second.at != phase::queued || slots_used_ + it->second.slots <= settings_.slots;
}

void task_table::tick(moment now, effects& out) {
  for (std::size_t i = 0; i < looks_per_tick && !looks_.empty() && looks_.begin()->first <= now.boot; ++i) {
    const operation_id operation = looks_.begin()->second;
    looks_.erase(looks_.begin());
    const task* t = find(operation);
    if (!t || t->at != phase::running || !t->stop || t->stop->kill_at <= now.boot) continue;
    out.push_back(look_at{operation});
    if (now.boot + 1s < t->stop->kill_at) looks_.emplace(now.boot + 1s, operation);
  }
}

std::optional<boot_time> task_table::next_tick() const {
  if (looks_.empty()) return std::nullopt;
  return looks_.begin()->first;
}

void task_table::exceed(const operation_id& operation, std::string why, moment now, effects& out) {
  task* t = find(operation);
  if (!t || t->at != phase::running || t->stop || !t->exceeded.empty()) return;
  t->exceeded = std::move(why);
  out.push_back(stop_request{operation, now.boot + std::min(t->grace, longest_grace_beyond_limits), std::nullopt});
}

void task_table::leave(moment now, departure how, effects& out) {
  leaving_ = true;
  for (auto& [id, t] : tasks_) {
    if (t.at == phase::queued)
      end_unrun(t, 0, failure_code::worker_lost, "the worker was stopped before the task ran", now, out);
    else if (t.at != phase::ended)
      apply(t, 0, how == departure::immediate ? 0ms : t.grace, now, out);
  }
}

void task_table::expire_unstarted(moment now, effects& out) {
  for (auto& [id, t] : tasks_) {
    const bool waits = t.at == phase::queued || t.at == phase::spawning || t.at == phase::held;
    if (!waits || t.stop || !lease_.over(now.boot, t.lease)) continue;
    if (t.at == phase::queued)
      end_unrun(t, 0, failure_code::worker_lost, lease_message(t, now) + "; the task never ran", now, out);
    else
      apply(t, 0, 0ms, now, out);
  }
}

std::vector<wire::task_ended> task_table::describe(wire::hello& hello, std::size_t most_results) const {
  std::vector<const task*> ended;
  hello.inventory.clear();
  hello.results.clear();
  for (const auto& [id, t] : tasks_) {
    if (t.at == phase::ended) {
      ended.push_back(&t);
      continue;
    }
    wire::inventory_item item{id, wire::task_phase::held, t.pid, {}, t.stop ? t.stop->seq : 0};
    // A task with its go that can still fail to execute has not begun. The result of an ending task carries its start.
    if (t.at == phase::draining) item.started_at = t.end.started_at;
    if (t.at == phase::running && t.executing) item.started_at = t.started_at;
    if (t.at == phase::running || t.at == phase::draining)
      item.phase = t.stop ? wire::task_phase::stopping : wire::task_phase::running;
    hello.inventory.push_back(item);
  }
  std::sort(ended.begin(), ended.end(), [](const task* a, const task* b) {
    return std::pair(a->end.ended_at, a->operation) < std::pair(b->end.ended_at, b->operation);
  });
  std::vector<wire::task_ended> later;
  for (const task* t : ended) {
    if (hello.results.size() < most_results) {
      hello.results.push_back(t->end);
      continue;
    }
    hello.inventory.push_back({t->operation, wire::task_phase::running, t->pid, t->end.started_at, t->end.stop_seq});
    later.push_back(t->end);
  }
  return later;
}

} // namespace quell::worker
