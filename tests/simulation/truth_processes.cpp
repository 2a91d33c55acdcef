// Processes: none is let go below a closed scope or operation, none runs twice, none outlives its bound, and slots are
// real.
#include <algorithm>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

namespace {
/// From the kill until all processes are gone: the slowest death, entrants, and the guardian's pauses.
constexpr instant bound = 2500 * ms;
} // namespace

void oracle::worker_started(std::size_t worker) {
  workers_[worker].applied.clear();
  workers_[worker].leaves = false;
}

void oracle::worker_gave_up(std::size_t worker, const std::string& why) {
  // Only a removed worker may give up.
  if (why.find("removed") == std::string::npos) world_.violate("liveness", world_.name(worker) + " gives up: " + why);
}

void oracle::machine_rebooted(std::size_t worker) {
  workers_[worker].applied.clear();
  for (auto& r : rows_)
    if (r.worker == worker) r.is_cut_off = false; // no process survives that
}

void oracle::start_arrived(std::size_t worker, const wire::start& s) {
  row* r = find(s.operation);
  if (!r) return world_.violate("order", "a START arrived for an operation that is not on disk");
  r->start = s;
  (void)worker;
}

void oracle::stop_applied(std::size_t worker, const wire::stop& s) {
  auto& w = workers_[worker];
  w.applied.push_back(s);
  const auto& clock = world_.workers[worker]->host().clock;
  for (auto& r : rows_) {
    if (r.living == 0 || r.worker != worker || !stop_covers(s, r)) continue;
    const milliseconds grace = s.grace.value_or(r.start->grace);
    const instant by = clock.when(clock.boot(world_.events.now()) + std::chrono::nanoseconds{grace}) + bound;
    if (r.ended_by && *r.ended_by <= by) continue;
    r.ended_by = by;
    world_.events.at(by, [this, id = r.record.id] { check_gone(id); });
  }
}

/// A bounded stop: grace and bound are over.
void oracle::check_gone(const operation_id& id) {
  const row* r = find(id);
  if (!r || r->living == 0 || world_.failed()) return;
  if (world_.events.now() < *r->ended_by) return;
  const auto& host = world_.workers[r->worker]->host();
  if (host.could_run(id))
    world_.violate("bounded stop", name(*r) + " still has processes on " + world_.name(r->worker) +
                                       " although its stop, grace and bound are over");
}

/// An operation that has ended here and lives there is killed as soon as its worker is back.
void oracle::strays_must_go(const std::string& called) {
  const auto& plan = world_.plan;
  for (const auto t :
       {trouble::slow_disk, trouble::partitions, trouble::hostile_links, trouble::freeze, trouble::full_disk})
    if (plan.has(t)) return;
  for (const auto& r : rows_) {
    if (r.living == 0 || !is_terminal_row(r) || world_.name(r.worker) != called) continue;
    const auto session = world_.workers[r.worker]->session();
    world_.events.after(bound, [this, id = r.record.id, session] {
      const row* still = find(id);
      const auto& w = *world_.workers[still->worker];
      if (still->living == 0 || w.session() != session || !w.host().could_run(id) || !world_.controller.is_up()) return;
      world_.violate("bounded stop",
                     name(*still) + " is over, and lives on " + world_.name(still->worker) + ", which is back");
    });
  }
}

void oracle::let_go(std::size_t worker, const operation_id& id) {
  const row* r = find(id);
  if (!r) return world_.violate("no escape", "something is let go that is not on disk");
  if (r->was_declared) return;
  const auto wrong = [&](const std::string& text) {
    world_.violate("no escape", name(*r) + " is let go on " + world_.name(worker) + " " + text);
  };
  if (is_terminal_row(*r)) return wrong("and is over");
  if (r->record.hot.worker != world_.name(worker)) return wrong("and is not assigned to it");
  for (const auto& s : workers_[worker].applied)
    if (r->start && stop_names(s, *r->start))
      return wrong("after stop " + std::to_string(s.seq) + " was applied there");
  for (const auto& c : cancels_)
    if (c.signalled_reported && c.reached.contains(world_.name(worker)) && covers(c, *r))
      return wrong("after " + world_.label(c.record.id) + " was said to be applied there");
}

void oracle::executed(std::size_t worker, const operation_id& id, std::uint32_t slots) {
  row* r = find(id);
  if (!r) return world_.violate("no escape", "something runs that is not on disk");
  ++runs_;
  world_.note(world_.name(worker), [&] { return name(*r) + " runs"; });
  if (++r->executions > 1)
    return world_.violate("one run", name(*r) + " runs a second time, on " + world_.name(worker));
  if (is_terminal_row(*r) && !r->was_declared) world_.violate("no escape", name(*r) + " runs and is over");
  r->worker = worker;
  r->slots = slots;
  r->living = 1;
  auto& w = workers_[worker];
  w.used += slots;
  if (w.used > world_.workers[worker]->slots())
    world_.violate("capacity", world_.name(worker) + " runs more than it has slots for");
  check_guild_processes();
}

void oracle::process_born(std::size_t worker, const operation_id& id) {
  row* r = find(id);
  if (!r || r->living == 0) return world_.violate("no escape", "a process appears for what is gone");
  ++r->living;
  (void)worker;
}

void oracle::process_gone(std::size_t worker, const operation_id& id) {
  row* r = find(id);
  if (!r || r->living == 0) return world_.violate("simulation", "a process ends that was not there");
  if (--r->living == 0) workers_[worker].used -= r->slots;
}

void oracle::cut_off(std::size_t worker, const operation_id& id) {
  const auto level = world_.workers[worker]->level();
  if (row* r = find(id)) r->is_cut_off = level == containment::group || level == containment::cgroup;
}

/// Only intended signals: each has an order behind it that covers the task.
void oracle::signalled(std::size_t worker, const operation_id& id) {
  const row* r = find(id);
  const auto& w = workers_[worker];
  if (!r || w.leaves) return;
  const bool meant = std::any_of(w.applied.begin(), w.applied.end(), [&](const auto& s) { return stop_covers(s, *r); });
  if (!meant && r->living > 0)
    world_.violate("only what was meant",
                   name(*r) + " is signalled on " + world_.name(worker) + ", and no stop covers it");
}

void oracle::leader_exited(const operation_id& id, const exit_state& how) {
  if (row* r = find(id)) r->exit = how;
}

} // namespace quell::simulation
