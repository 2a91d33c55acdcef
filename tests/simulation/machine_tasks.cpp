// The processes of a task: exec, children, signals, repeated kills, the proof of the end, and the lease.
#include <algorithm>

#include "protocol/lease.hpp"
#include "tests/simulation/machine.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::worker;

void machine::execute(task& t) {
  if (t.script.exec_fails) {
    t.exec_failed = true;
    t.exit = exit_state{127, std::nullopt};
    say(task_exec_failed{t.operation, 127, "cannot find the command"});
    t.processes[0].alive = false;
    on_task(t.serial, random_.between(10, 90) * us, [this](task& ended) { finish(ended); });
    return;
  }
  t.executed = true;
  t.processes[0].script.stuck = t.script.processes[0].stuck;
  world_.truth.executed(worker_, t.operation, t.slots);
  say(task_executing{t.operation});
  begin(t, 0);
  for (std::size_t i = 1; i < t.script.processes.size(); ++i)
    on_task(t.serial, t.script.processes[i].starts, [this, i](task& running) {
      // A live parent must exist to fork it.
      if (running.processes[0].alive && !running.processes[0].killed) {
        running.processes.push_back({running.script.processes[i], true, false, false, false, false});
        world_.truth.process_born(worker_, running.operation);
        begin(running, running.processes.size() - 1);
      }
    });
  for (const auto& n : t.script.nested)
    on_task(t.serial, n.after, [this, n](task& running) {
      if (running.processes[0].alive && !running.processes[0].killed)
        world_.people.start_nested(running.operation, n.salt, worker_);
    });
}

void machine::begin(task& t, std::size_t index) {
  on_task(t.serial, t.processes[index].script.lasts, [this, index](task& running) {
    const auto& p = running.processes[index];
    if (p.alive && !p.killed) process_dies(running, index, {running.script.exit_code, std::nullopt});
  });
}

void machine::process_dies(task& t, std::size_t index, exit_state how) {
  process& p = t.processes[index];
  if (!std::exchange(p.alive, false)) return;
  if (t.executed) world_.truth.process_gone(worker_, t.operation);
  const bool natural = how.code.has_value();
  if (p.is_leader && t.executed) {
    t.exit = how;
    if (natural) world_.truth.leader_exited(t.operation, how);
    if (how.signal != "KILL" || random_.chance(500)) say(task_leader_exited{t.operation, how});
    if (natural && t.leader_exit == on_leader_exit::kill)
      for (std::size_t i = 0; i < t.processes.size(); ++i) kill_process(t, i);
  }
  finish(t);
}

void machine::obey_stop(const operation_id& operation, bool held, boot_time kill_at,
                        std::optional<boot_time> signal_at) {
  task* t = find(operation);
  if (!t || !t->is_made || t->over) return;
  t->stopping = true;
  t->kill_at = std::min(t->kill_at.value_or(kill_at), kill_at);
  if (t->killing) return;
  if (t->executed) world_.truth.signalled(worker_, operation);
  if (held || *t->kill_at <= boot()) return kill(*t);
  at_clock(t->serial, *t->kill_at, [this](task& due) {
    if (due.kill_at && *due.kill_at <= boot()) kill(due);
  });
  if (t->signalled) return;
  const auto when = signal_at.value_or(boot());
  t->signal_at = std::min(t->signal_at.value_or(when), when);
  if (signal_at && t->sent == force::nothing) t->sent = force::cooperative;
  at_clock(t->serial, *t->signal_at, [this](task& due) {
    if (!due.killing && !due.signalled && due.signal_at && *due.signal_at <= boot()) signal(due);
  });
}

void machine::signal(task& t) {
  if (!guardian_lives_ || t.over) return;
  t.signalled = true;
  t.sent = force::signalled;
  world_.note(world_.name(worker_), [&] { return "SIGTERM to " + world_.label(t.operation); });
  for (std::size_t i = 0; i < t.processes.size(); ++i) {
    process& p = t.processes[i];
    if (!p.alive || p.script.ignores_term || std::exchange(p.signalled, true)) continue;
    on_task(t.serial, p.script.dies_after, [this, i](task& running) {
      const auto& dying = running.processes[i];
      if (dying.alive && !dying.killed) process_dies(running, i, {std::nullopt, "TERM"});
    });
  }
}

void machine::kill(task& t) {
  if (t.killing || t.over) return;
  t.stopping = t.killing = true;
  t.sent = force::killed;
  world_.note(world_.name(worker_), [&] { return "SIGKILL to " + world_.label(t.operation); });
  on_task(t.serial, 1 * seconds, [this](task& late) { report_each_second(late); });
  kill_round(t);
}

void machine::kill_round(task& t) {
  for (std::size_t i = 0; i < t.processes.size(); ++i) kill_process(t, i);
  if (t.executed && t.script.entrants > 0 && t.processes[0].alive) {
    --t.script.entrants; // it was entering the containment when the kill went through
    process_script late = t.script.processes[0];
    late.lasts = 3600 * seconds;
    late.stuck = false;
    late.kill_takes = 1 * ms;
    t.processes.push_back({late, true, false, false, false, false});
    world_.truth.process_born(worker_, t.operation);
  }
  on_task(t.serial, t.pause, [this](task& again) {
    if (!again.over) kill_round(again);
  });
  t.pause = std::min<instant>(2 * t.pause, 1 * seconds);
  finish(t);
}

void machine::kill_process(task& t, std::size_t index) {
  process& p = t.processes[index];
  if (!p.alive || std::exchange(p.killed, true)) return;
  p.was_stuck = p.was_stuck || p.script.stuck;
  if (p.script.stuck) return;
  on_task(t.serial, p.script.kill_takes, [this, index](task& dying) {
    process_dies(dying, index, {std::nullopt, "KILL"});
  });
}

void machine::finish(task& t) {
  if (t.over || t.reaping || !t.is_made) return;
  if (std::any_of(t.processes.begin(), t.processes.end(), [](const auto& p) { return p.alive; })) return;
  t.reaping = true;
  on_task(t.serial, random_.between(20, 300) * us, [this](task& dead) {
    dead.over = true;
    if (!guardian_lives_ || !worker_here_) return drop(dead.serial);
    task_ended_here ended{dead.operation, dead.exit, dead.sent, proof::group_empty};
    if (dead.executed && !ended.exit) ended.exit = exit_state{std::nullopt, "KILL"};
    if (dead.held && !dead.stopping && !dead.executed && !dead.exec_failed) ended.exit.reset();
    say(std::move(ended));
  });
}

void machine::report_still_there(task& t) {
  if (t.over || !guardian_lives_ || !worker_here_) return;
  task_still_there e;
  e.operation = t.operation;
  e.why = t.killing ? unproven_why::kill_in_flight : unproven_why::in_grace;
  for (const auto& p : t.processes)
    if (p.alive) {
      ++e.processes_total;
      if (t.killing && p.script.stuck) e.why = unproven_why::stuck_in_kernel;
    }
  if (t.killing) e.kill_again_at = boot();
  say(std::move(e));
}

void machine::report_each_second(task& t) {
  if (t.over) return;
  report_still_there(t);
  on_task(t.serial, 1 * seconds, [this](task& late) { report_each_second(late); });
}

void machine::renew(boot_time base, milliseconds length) {
  lease_base_ = base;
  lease_length_ = length;
  check_leases();
}

bool machine::lease_over(const task& t) const {
  if (!lease_base_) return true;
  const auto over = [&](milliseconds length) { return boot() >= *lease_base_ + length - kill_margin(length); };
  if (!t.executed && over(lease_length_)) return true;
  return over(t.lease.value_or(lease_length_));
}

void machine::check_leases() {
  if (!lease_base_) return;
  std::optional<boot_time> next;
  for (auto& [serial, t] : tasks_) {
    if (t.killing || t.over || !t.is_made) continue;
    if (lease_over(t)) {
      // One at a time: a kill does not change the list of tasks.
      kill(t);
      continue;
    }
    auto length = t.lease.value_or(lease_length_);
    if (!t.executed) length = std::min(length, lease_length_);
    const auto at = *lease_base_ + length - kill_margin(length);
    if (!next || at < *next) next = at;
  }
  if (!next) return;
  world_.events.at(clock.when(*next), [this, life = life_, check = ++lease_checks_] {
    if (life == life_ && guardian_lives_ && check == lease_checks_) check_leases();
  });
}

} // namespace quell::simulation
