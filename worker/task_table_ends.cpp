// The task table: guardian events, the go, decided races, and the result.
#include "worker/task_table.hpp"

namespace quell::worker {
namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

constexpr std::size_t longest_message = 500;

std::string cut(std::string text) {
  if (text.size() > longest_message) text.resize(longest_message);
  return text;
}

} // namespace

void task_table::hear(const guardian_event& event, moment now, effects& out) {
  const auto with = [&](const operation_id& operation, auto&& act) {
    task* t = find(operation);
    // A guardian reports only on tasks that it was given and that have not ended; any other event is from before a
    // sweep.
    if (t && (t->at == phase::spawning || t->at == phase::held || t->at == phase::running)) act(*t);
  };
  std::visit(overloaded{
                 [&](const task_held& e) {
                   with(e.operation, [&](task& t) {
                     t.pid = e.pid;
                     if (t.at != phase::spawning) return;
                     t.at = phase::held;
                     if (t.stop) return; // the guardian already has the stop: no go, no exec
                     if (lease_.over(now.boot, t.lease)) {
                       t.exec_error = lease_message(t, now);
                       out.push_back(stop_request{t.operation, now.boot, std::nullopt});
                       return;
                     }
                     out.push_back(let_go{t.operation});
                   });
                 },
                 [&](const task_spawn_failed& e) { spawn_refused(e.operation, e.message, now, out); },
                 [&](const task_executing& e) {
                   // Reported here instead of at the go: a task that is stopped in between, or cannot be executed,
                   // never shows as running.
                   with(e.operation, [&](task& t) {
                     if (t.at != phase::running) return;
                     t.executing = true;
                     if (!t.stop)
                       out.push_back(tell{wire::task_started{t.operation, t.pid, t.started_at, settings_.level}});
                   });
                 },
                 [&](const task_exec_failed& e) {
                   with(e.operation, [&](task& t) {
                     t.leader = exit_state{e.code, std::nullopt};
                     t.exec_error = e.message.empty() ? "the command could not be executed" : e.message;
                   });
                 },
                 [&](const task_leader_exited& e) {
                   with(e.operation, [&](task& t) {
                     if (t.exec_error.empty()) t.leader = e.exit;
                   });
                 },
                 [&](const task_ended_here& e) { with(e.operation, [&](task& t) { ended(t, e, now, out); }); },
                 [&](const task_still_there& e) { with(e.operation, [&](task& t) { still_there(t, e, now, out); }); },
                 [](const guardian_gone&) {}, // the loop sweeps and calls `swept`
             },
             event);
}

void task_table::go_result(const operation_id& operation, bool was_given, moment now) {
  task* t = find(operation);
  if (!t || t->at != phase::held || !was_given) return; // not given: the guardian ended it and reports that next
  t->at = phase::running;
  t->started_at = now.wall;
}

void task_table::spawn_refused(const operation_id& operation, std::string why, moment now, effects& out,
                               std::string code) {
  if (constexpr std::string_view isolation = "workspace_isolation: "; why.starts_with(isolation)) {
    why.erase(0, isolation.size());
    code = name_of(failure_code::workspace_isolation);
  }
  task* t = find(operation);
  if (!t || (t->at != phase::spawning && t->at != phase::held)) return;
  release(*t);
  t->end.operation = operation;
  t->end.evidence = proof::never_ran;
  t->end.ended_at = now.wall;
  if (t->stop && t->stop->seq != 0) {
    t->end.stop_seq = t->stop->seq;
    t->end.how = receipt::never_started;
  } else if (code != name_of(failure_code::start_failed)) {
    t->end.error_code = std::move(code);
    t->end.error_message = cut(std::move(why));
  } else {
    t->end.error_code = name_of(failure_code::start_failed);
    t->end.error_message = cut("the task could not be started: " + std::move(why));
    t->end.exit = exit_state{126, std::nullopt}; // the shell's code for a command that cannot be executed
  }
  t->at = phase::draining;
  out.push_back(finish_output{operation});
}

void task_table::give_back(const operation_id& failed, moment now, effects& out) {
  std::vector<operation_id> unbegun;
  for (const auto& [id, t] : tasks_)
    if (t.at == phase::queued || (id == failed && (t.at == phase::spawning || t.at == phase::held)))
      unbegun.push_back(id);
  for (const auto& id : unbegun) {
    task& t = tasks_.at(id);
    if (t.at != phase::queued) release(t);
    if (t.stop) {
      end_unrun(t, t.stop->seq, t.stop->seq == 0 ? std::optional(failure_code::worker_lost) : std::nullopt,
                t.stop->seq == 0 ? "the worker was stopped before the task ran" : "", now, out);
      continue;
    }
    --live_;
    tasks_.erase(id);
  }
}

void task_table::end_unrun(task& t, std::uint64_t stop_seq, std::optional<failure_code> why, std::string message,
                           moment now, effects& out) {
  t.order.reset();
  t.end = {};
  t.end.operation = t.operation;
  t.end.stop_seq = stop_seq;
  if (stop_seq != 0) t.end.how = receipt::never_started;
  t.end.evidence = proof::never_ran;
  t.end.error_code = why ? name_of(*why) : std::string_view();
  t.end.error_message = cut(std::move(message));
  t.end.ended_at = now.wall;
  publish(t, out);
}

void task_table::release(task& t) {
  slots_used_ -= t.slots;
  t.slots = 0;
}

void task_table::ended(task& t, const task_ended_here& e, moment now, effects& out) {
  release(t);
  decide(t, e, now);
  t.at = phase::draining;
  out.push_back(finish_output{t.operation});
}

/// A stop that was applied while the report of the end waited came behind that end.
void task_table::forget_late_stop(task& t, const task_ended_here& e) {
  if (!e.ended_at || !t.stop || t.stop->seq == 0 || t.stop->by_controller_at <= *e.ended_at) return;
  if (t.stop->at.boot <= *e.ended_at)
    t.stop->seq = 0; // the worker was leaving already
  else
    t.stop.reset();
}

void task_table::decide(task& t, const task_ended_here& e, moment now) {
  using force = task_ended_here::force;
  t.end.operation = t.operation;
  t.end.ended_at = e.ended_at ? now.wall_at(*e.ended_at) : now.wall;
  forget_late_stop(t, e);
  t.end.exit = t.leader ? t.leader : e.exit;
  const bool ran = t.at == phase::running && t.exec_error.empty() && (e.exit || t.leader);
  if (ran) t.end.started_at = t.started_at;
  t.end.evidence = ran ? e.evidence : proof::never_ran;
  if (t.stop && t.stop->seq != 0) {
    t.end.stop_seq = t.stop->seq;
    if (!ran)
      t.end.how = receipt::never_started;
    else
      switch (e.sent) {
      case force::nothing:
      case force::cooperative:
        t.end.how = receipt::cooperative;
        break;
      case force::signalled:
        t.end.how = receipt::terminated;
        break;
      case force::killed:
        t.end.how = receipt::killed;
        break;
      }
    return;
  }
  if (t.stop) {
    t.end.error_code = name_of(failure_code::worker_lost);
    t.end.error_message =
        ran ? "the worker was stopped, and the task with it" : "the worker was stopped before the task ran";
    return;
  }
  if (t.at == phase::running && !t.exec_error.empty()) {
    t.end.error_code = name_of(failure_code::start_failed);
    t.end.error_message = cut(t.exec_error);
    return;
  }
  if (ran && !t.exceeded.empty()) {
    t.end.error_code = name_of(failure_code::workspace_full);
    t.end.error_message = cut(t.exceeded);
    return;
  }
  // A forced end without a stop of ours is the guardian's own, at the end of the lease; but on_leader_exit=kill also
  // forces after a natural end.
  const bool forced = e.sent == force::signalled || e.sent == force::killed;
  const bool by_lease =
      t.leader_exit == on_leader_exit::wait || (lease_.over(now.boot, t.lease) && t.end.exit && t.end.exit->signal);
  if (!ran || (forced && by_lease)) {
    t.end.error_code = name_of(failure_code::worker_lost);
    t.end.error_message = cut(!t.exec_error.empty() ? t.exec_error + "; the task never ran" : lease_message(t, now));
    return;
  }
  t.end.left_total = e.left_total;
  t.end.left = e.left;
  const auto& exit = t.end.exit;
  if (e.limit.empty() || !exit || (!exit->signal && exit->code.value_or(0) == 0)) return;
  t.end.error_code = name_of(failure_code::error);
  t.end.error_message =
      cut((exit->signal ? "killed by signal " + *exit->signal : "exited with code " + std::to_string(*exit->code)) +
          ": " + e.limit);
}

void task_table::still_there(task& t, const task_still_there& e, moment now, effects& out) {
  if (!t.stop || t.stop->seq == 0) return;
  wire::task_unproven report{t.operation,       e.why,   t.stop->at.wall, e.processes_total, e.processes,
                             next_action::kill, now.wall};
  if (report.processes.size() > 20) report.processes.resize(20);
  if (now.boot < t.stop->kill_at) {
    const bool before_signal = t.stop->signal_at && now.boot < *t.stop->signal_at;
    report.why = unproven_why::in_grace;
    report.next = before_signal ? next_action::signal : next_action::kill;
    report.next_at = now.wall_at(before_signal ? *t.stop->signal_at : t.stop->kill_at);
  } else if (e.why == unproven_why::no_permission) {
    report.next = next_action::resolve;
  } else {
    report.next = next_action::kill_again;
    report.next_at = now.wall_at(e.kill_again_at.value_or(now.boot + std::chrono::seconds{1}));
  }
  out.push_back(tell{std::move(report)});
}

void task_table::output_finished(const operation_id& operation, const output_counts& counts, moment, effects& out) {
  task* t = find(operation);
  if (!t || t->at != phase::draining) return;
  t->end.output = counts;
  publish(*t, out);
}

void task_table::publish(task& t, effects& out) {
  t.at = phase::ended;
  --live_;
  t.ancestors = {};
  out.push_back(tell{t.end});
}

void task_table::swept(moment now, effects& out) {
  // Without a namespace only parentage shows which processes belong to a task, and a task that can kill the guardian
  // can break it.
  proof evidence = proof::none;
  if (settings_.level == containment::cgroup_pidns) evidence = proof::cgroup_empty;
  if (settings_.level == containment::pidns) evidence = proof::pidns_gone;
  for (auto& [id, t] : tasks_) {
    if (t.at != phase::spawning && t.at != phase::held && t.at != phase::running) continue;
    const bool ran = t.at == phase::running;
    task_ended_here e{id, std::nullopt, task_ended_here::force::killed, evidence};
    if (ran) e.exit = t.leader ? *t.leader : exit_state{std::nullopt, "KILL"};
    const bool self_status = t.stop && t.stop->seq != 0;
    ended(t, e, now, out);
    // Also without a stop: the controller can have ordered one that has not arrived here.
    if (ran && evidence == proof::none) t.end.how = receipt::unconfirmed;
    if (self_status) continue;
    t.end.error_code = name_of(failure_code::worker_lost);
    t.end.error_message =
        ran ? "the worker's guardian died, and the task with it" : "the worker's guardian died before the task ran";
  }
}

std::string task_table::lease_message(const task& t, moment now) const {
  if (!lease_.base()) return "the worker had no lease";
  if (!lease_.over(now.boot, t.lease)) // this is reported after the worker has heard from the controller again
    return "the lease ran out before the controller was heard again";
  const auto silent = std::chrono::duration_cast<milliseconds>(now.boot - *lease_.base());
  const std::string time = silent < std::chrono::seconds{1}
                               ? std::to_string(silent.count()) + " ms"
                               : std::to_string(std::chrono::floor<std::chrono::seconds>(silent).count()) + " s";
  return "the lease ran out: no contact with the controller for " + time;
}

} // namespace quell::worker
