// Requests and starts of the guardian, and deaths of the programs around it.
#include "tests/simulation/machine.hpp"

#include <algorithm>

#include "protocol/lease.hpp"
#include "tests/simulation/voice_tasks.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::worker;

machine::machine(world& w, std::size_t worker, std::int64_t ppm)
    : clock((100 + static_cast<std::int64_t>(worker) * 1000) * seconds, ppm),
      boot_id("boot-" + std::to_string(worker) + "-0"), world_(w), worker_(worker), random_(w.plan.seed, 500 + worker) {
}

boot_time machine::boot() const { return clock.boot(world_.events.now()); }

machine::task* machine::find(const operation_id& operation) {
  const auto at = by_operation_.find(operation);
  return at == by_operation_.end() ? nullptr : &tasks_.at(at->second);
}

void machine::order(std::function<void()> what) {
  last_order_ = std::max(last_order_, world_.events.now() + random_.between(5, 150) * us);
  world_.events.at(last_order_, [this, life = life_, what = std::move(what)] {
    if (life == life_ && guardian_lives_ && worker_here_) what();
  });
}

void machine::say(guardian_event event) {
  if (!guardian_lives_ || !worker_here_) return;
  last_word_ = std::max(last_word_, world_.events.now() + random_.between(5, 150) * us);
  world_.events.at(last_word_, [this, life = life_, event = std::move(event)]() mutable {
    if (life != life_ || !worker_here_) return;
    events_.push_back(std::move(event));
    world_.workers[worker_]->wake();
  });
}

void machine::on_task(std::uint64_t serial, instant delay, std::function<void(task&)> what) {
  world_.events.after(delay, [this, serial, what = std::move(what)] {
    const auto at = tasks_.find(serial);
    if (at != tasks_.end()) what(at->second);
  });
}

void machine::at_clock(std::uint64_t serial, boot_time when, std::function<void(task&)> what) {
  on_task(serial, std::max<instant>(clock.when(when) - world_.events.now(), 0), std::move(what));
}

void machine::launch() {
  ++life_;
  guardian_lives_ = worker_here_ = true;
  guardian_was_killed_ = false;
  events_.clear();
  tasks_.clear();
  by_operation_.clear();
  lease_base_.reset();
}

std::vector<guardian_event> machine::receive() {
  std::vector<guardian_event> events = std::exchange(events_, {});
  // State that the guardian's client keeps (worker/guardian/client.cpp, note()).
  std::erase_if(events, [this](guardian_event& event) {
    if (auto* held = std::get_if<task_held>(&event)) {
      task* t = find(held->operation);
      if (!t || !t->hold_open) return true;
      t->held_reported = true;
    } else if (auto* refused = std::get_if<task_spawn_failed>(&event)) {
      if (task* t = find(refused->operation)) drop(t->serial);
    } else if (auto* ended = std::get_if<task_ended_here>(&event)) {
      task* t = find(ended->operation);
      if (!t) return true;
      if (!t->has_go) {
        ended->exit.reset();
        ended->sent = force::nothing;
      }
      drop(t->serial);
    }
    return false;
  });
  return events;
}

namespace {
/// A recogniser runs until it is stopped, mostly; a voice ends soon. Neither starts operations.
void play_voice(task_script& s, const std::string& command) {
  if (command != played_ear && command != played_mouth) return;
  s.nested.clear();
  auto& leader = s.processes.front();
  if (command == played_ear && leader.lasts % 8 != 0) leader.lasts = 3600 * seconds;
  if (command == played_mouth) leader.lasts %= 2 * seconds;
}
} // namespace

void machine::spawn(const wire::start& o) {
  task t;
  t.operation = o.operation;
  t.serial = ++serials_;
  t.script = script_of(world_.plan, o.operation, world_.people.depth_of(o.operation));
  if (!o.spec.command.empty()) play_voice(t.script, o.spec.command.front());
  if (nothing_sticks_)
    for (auto& p : t.script.processes) p.stuck = false;
  t.slots = o.spec.slots;
  t.leader_exit = o.spec.leader_exit;
  t.lease = o.spec.lease;
  by_operation_.emplace(o.operation, t.serial);
  tasks_.emplace(t.serial, std::move(t));
  order([this, id = o.operation] { make(id); });
}

void machine::make(const operation_id& operation) {
  task* t = find(operation);
  if (!t) return;
  if (!lease_base_ || lease_over(*t)) {
    t->over = true;
    return say(task_spawn_failed{operation, lease_base_ ? "the worker's lease is over" : "there is no lease yet"});
  }
  t->is_made = true;
  process leader;
  leader.script = t->script.processes.front();
  leader.script.stuck = false; // it has not executed anything yet
  leader.is_leader = true;
  t->processes.push_back(leader);
  t->pid = ++pids_;
  check_leases();
  on_task(t->serial, random_.between(100, 900) * us, [this](task& made) {
    if (made.killing || made.processes.empty() || !made.processes[0].alive) return;
    if (made.script.spawn_fails) {
      made.processes[0].alive = false;
      made.over = true;
      return say(task_spawn_failed{made.operation, "the task's keeper failed"});
    }
    made.held = true;
    say(task_held{made.operation, made.pid});
  });
}

bool machine::go(const operation_id& operation) {
  task* t = find(operation);
  if (!t || !t->held_reported || !t->hold_open || !guardian_lives_) return false;
  t->hold_open = false;
  t->has_go = true;
  world_.truth.let_go(worker_, operation);
  on_task(t->serial, random_.between(20, 400) * us, [this](task& held) {
    if (!held.processes.empty() && held.processes[0].alive) execute(held);
  });
  return true;
}

void machine::stop(const stop_request& r) {
  task* t = find(r.operation);
  if (!t) return;
  t->hold_open = false;
  const bool held = !t->has_go;
  order([this, r, held] { obey_stop(r.operation, held, r.kill_at, r.signal_at); });
}

void machine::lease(boot_time base, milliseconds length) {
  order([this, base, length] { renew(base, length); });
}

void machine::look(const operation_id& operation) {
  order([this, operation] {
    if (task* t = find(operation); t && t->is_made && !t->over) report_still_there(*t);
  });
}

void machine::hang_up(const operation_id& operation) {
  if (task* t = find(operation); t && t->executed)
    for (std::size_t i = 0; i < t->processes.size(); ++i)
      if (!t->processes[i].script.ignores_term)
        on_task(t->serial, t->processes[i].script.dies_after, [this, i](task& hung) {
          process_dies(hung, i, {std::nullopt, "HUP"});
        });
}

void machine::worker_died() {
  if (!worker_here_) return;
  worker_here_ = false;
  events_.clear();
  // The holds close with the process; the guardian reads the end of its socket a moment later.
  for (auto& [serial, t] : tasks_) t.hold_open = false;
  world_.events.after(random_.between(20, 900) * us, [this, life = life_] {
    if (life != life_ || !guardian_lives_) return;
    std::vector<std::uint64_t> serials;
    for (const auto& [serial, t] : tasks_) serials.push_back(serial);
    for (const auto serial : serials)
      if (const auto at = tasks_.find(serial); at != tasks_.end()) {
        if (!at->second.is_made || at->second.over)
          drop(serial);
        else
          kill(at->second);
      }
  });
}

void machine::kill_guardian() {
  if (!guardian_lives_) return;
  guardian_lives_ = false;
  guardian_was_killed_ = true;
  for (const auto& [serial, t] : tasks_)
    if (t.executed && lives(t.operation)) world_.truth.cut_off(worker_, t.operation);
  const bool tell = worker_here_;
  // Parent-death signals and the keepers: everything dies, until no process is left.
  world_.events.after(random_.between(20, 900) * us, [this] { sweep(); });
  if (!tell) return;
  world_.events.after(random_.between(50, 900) * us, [this, life = life_] {
    if (life != life_ || !worker_here_) return;
    events_.push_back(guardian_gone{"killed"});
    world_.workers[worker_]->wake();
  });
}

void machine::reboot() {
  ++life_;
  guardian_lives_ = worker_here_ = guardian_was_killed_ = false;
  events_.clear();
  for (auto& [serial, t] : tasks_)
    for (auto& p : t.processes)
      if (std::exchange(p.alive, false) && t.executed) world_.truth.process_gone(worker_, t.operation);
  tasks_.clear();
  by_operation_.clear();
  clock.reboot(world_.events.now());
  boot_id += "+";
}

void machine::sweep() {
  std::vector<std::uint64_t> serials;
  for (const auto& [serial, t] : tasks_) serials.push_back(serial);
  for (const auto serial : serials) {
    const auto at = tasks_.find(serial);
    if (at == tasks_.end()) continue;
    auto& t = at->second;
    t.hold_open = false;
    if (std::none_of(t.processes.begin(), t.processes.end(), [](const auto& p) { return p.alive; }))
      drop(serial);
    else if (!std::exchange(t.swept, true))
      kill_round(t);
  }
}

void machine::release_stuck() {
  nothing_sticks_ = true;
  for (auto& [serial, t] : tasks_) {
    for (auto& p : t.script.processes) p.stuck = false;
    for (std::size_t i = 0; i < t.processes.size(); ++i) {
      auto& p = t.processes[i];
      p.script.stuck = false;
      if (p.alive && p.killed) {
        p.killed = false;
        kill_process(t, i);
      }
    }
  }
}

void machine::drop(std::uint64_t serial) {
  const auto at = tasks_.find(serial);
  if (at == tasks_.end()) return;
  by_operation_.erase(at->second.operation);
  tasks_.erase(at);
}

bool machine::empty() const {
  for (const auto& [serial, t] : tasks_)
    for (const auto& p : t.processes)
      if (p.alive) return false;
  return true;
}

bool machine::lives(const operation_id& operation) const {
  for (const auto& [serial, t] : tasks_)
    if (t.operation == operation)
      for (const auto& p : t.processes)
        if (p.alive) return true;
  return false;
}

bool machine::could_run(const operation_id& operation) const {
  for (const auto& [serial, t] : tasks_)
    if (t.operation == operation)
      for (const auto& p : t.processes)
        if (p.alive && !p.was_stuck) return true;
  return false;
}

bool machine::has_stuck(const operation_id& operation) const {
  for (const auto& [serial, t] : tasks_)
    if (t.operation == operation)
      for (const auto& p : t.processes)
        if (p.alive && p.script.stuck) return true;
  return false;
}

} // namespace quell::simulation
