// Events at the simulated workers: frames, ends, restarts, lost leases; and crashes of the controller.
#include <algorithm>

#include "tests/controller/ledger/model_run.hpp"

namespace quell::controller::testing {

bool simulated_worker::covers(const wire::stop& s, const wire::start& t) {
  if (s.scope && t.scope.is_at_or_below(*s.scope) && t.as_of <= s.cutoff) return true;
  const auto named = [&](const operation_id& id) {
    return std::find(s.operations.begin(), s.operations.end(), id) != s.operations.end();
  };
  return named(t.operation) || std::any_of(t.ancestors.begin(), t.ancestors.end(), named);
}

void model_run::deliver() {
  const std::string& name = pick(some_workers);
  auto& w = s_.workers[name];
  if (w.inbox.empty()) return;
  const auto frame = std::move(w.inbox.front());
  w.inbox.pop_front();
  if (const auto* start = std::get_if<wire::start>(&frame)) {
    w.tasks[start->operation] = {*start, true, 0};
    const int x = s_.truth.find(start->operation);
    auto& o = s_.truth.operations[x];
    if (!o.over && !o.self_status && o.worker == name && !o.started) {
      o.started = true;
      if (o.timeout.count() > 0) o.deadline = now_.boot + o.timeout;
    }
    ledger_->started(name, {start->operation, 7, now_.wall, containment::cgroup}, now_);
  } else {
    const auto& stop = std::get<wire::stop>(frame);
    for (auto& [id, t] : w.tasks) {
      if (t.stop_seq != 0 || !simulated_worker::covers(stop, t.start)) continue;
      t.stop_seq = stop.seq;
      const int x = s_.truth.find(id);
      if (x < 0 || (!s_.truth.operations[x].stop && !s_.truth.operations[x].self_status))
        fail("a worker was told to stop what nobody cancelled");
      ledger_->stopping(name, {id, stop.seq, now_.wall, now_.wall + milliseconds{2000}}, now_);
    }
    ledger_->stop_applied(name, stop.seq, now_);
  }
  commit();
}

void model_run::task_ends() {
  auto& w = s_.workers[pick(some_workers)];
  if (w.tasks.empty()) return;
  auto at = std::next(w.tasks.begin(), draw(static_cast<std::uint32_t>(w.tasks.size())));
  wire::task_ended m;
  m.operation = at->first;
  m.started_at = m.ended_at = now_.wall;
  m.stop_seq = at->second.stop_seq;
  m.exit = exit_state{static_cast<std::int32_t>(draw(2)), {}};
  if (m.stop_seq != 0) {
    m.how = draw(2) == 0 ? receipt::terminated : receipt::killed;
    m.evidence = proof::cgroup_empty;
  }
  w.results[m.operation] = m;
  w.tasks.erase(at);
}

void model_run::report_results() {
  const std::string& name = pick(some_workers);
  auto results = s_.workers[name].results;
  for (const auto& [id, m] : results) {
    const int x = s_.truth.find(id);
    auto& o = s_.truth.operations[x];
    if (!o.over && !o.self_status && o.worker == name) {
      o.started = true;
      if (m.stop_seq != 0) {
        s_.truth.lose(x, *m.how, m.evidence);
      } else {
        s_.truth.finish_local(x, {m.exit->code == 0 ? status::completed : status::failed, {}, proof::exit_status});
      }
    }
    ledger_->ended(name, m, now_);
    commit();
  }
}

void model_run::worker_reconnects(const std::string& name) {
  auto& w = s_.workers[name];
  for (const auto& frame : w.inbox) { // a START of the old session is void; it can be placed again
    if (!std::holds_alternative<wire::start>(frame)) continue;
    const int x = s_.truth.find(std::get<wire::start>(frame).operation);
    auto& o = s_.truth.operations[x];
    if (o.over || o.self_status || o.worker != name) continue;
    if (o.stop) {
      s_.truth.lose(x, receipt::never_started, proof::never_ran);
    } else {
      o.worker.reset();
      o.was_held = false;
    }
  }
  w.inbox.clear();
  wire::hello h;
  h.level = containment::cgroup;
  h.absence_is_proof = true;
  for (const auto& [id, t] : w.tasks)
    h.inventory.push_back(
        {id, t.stop_seq != 0 ? wire::task_phase::stopping : wire::task_phase::running, 7, now_.wall, t.stop_seq});
  for (const auto& [id, m] : w.results) h.results.push_back(m);
  for (const auto& m : h.results) {
    const int x = s_.truth.find(m.operation);
    auto& o = s_.truth.operations[x];
    if (o.over || o.self_status || o.worker != name) continue;
    o.started = true;
    if (m.stop_seq != 0)
      s_.truth.lose(x, *m.how, m.evidence);
    else
      s_.truth.finish_local(x, {m.exit->code == 0 ? status::completed : status::failed, {}, proof::exit_status});
  }
  for (const auto& [id, t] : w.tasks) {
    const int x = s_.truth.find(id);
    auto& o = s_.truth.operations[x];
    if (o.over || o.self_status || o.worker != name || o.started) continue;
    o.started = true;
    if (o.timeout.count() > 0) o.deadline = now_.boot + o.timeout;
  }
  ledger_->reconcile(name, h, true, now_);
  commit();
}

void model_run::worker_restarts() {
  const std::string& name = pick(some_workers);
  auto& w = s_.workers[name];
  w.inbox.clear();
  w.tasks.clear();
  w.results.clear();
  for (std::size_t i = 0; i < s_.truth.operations.size(); ++i)
    if (s_.truth.operations[i].worker == name) s_.truth.lose(static_cast<int>(i), receipt::killed, proof::cgroup_empty);
  wire::hello h;
  h.level = containment::cgroup;
  h.absence_is_proof = true;
  ledger_->reconcile(name, h, false, now_);
  commit();
}

void model_run::lease_ends() {
  const std::string& name = pick(some_workers);
  auto& w = s_.workers[name];
  w.inbox.clear();
  w.tasks.clear();
  for (std::size_t i = 0; i < s_.truth.operations.size(); ++i)
    if (s_.truth.operations[i].worker == name)
      s_.truth.lose(static_cast<int>(i), receipt::killed, proof::lease_expired);
  ledger_->lease_expired(
      name, [this](auto) { return now_.boot; }, now_);
  commit();
}

void model_run::declare() {
  const int x = pick_operation();
  if (x < 0) return;
  auto& o = s_.truth.operations[x];
  std::string expected;
  if (o.over)
    expected = "already_terminal";
  else if (!o.stop || o.self_status)
    expected = "not_cancelling";
  if (expected.empty() && o.worker) s_.truth.lose(x, receipt::declared, proof::none);
  const auto done = ledger_->declare_dead(o.id, "gone", {}, now_);
  // An operation that was never sent and that a sweep has visited has its own end already; the model learns of it only
  // when it is terminal.
  const bool is_forgotten = o.over && !done && done.error().error.code == error_code::operation_not_found;
  if (!done && text_of(done.error().error.code) != expected && o.was_held && !is_forgotten)
    fail("declare was refused as " + std::string(text_of(done.error().error.code)));
  if (done && !expected.empty()) fail("declare was taken although " + expected);
  commit();
}

void model_run::crash() {
  // Back to a committed batch; nothing that came after it has left the controller.
  const auto back = std::min<std::size_t>(draw(4), past_.size() - 1);
  past_.resize(past_.size() - back);
  s_ = past_.back();
  ledger_ = ledger::make(settings_, in_parts(s_.store.recovered()), now_);
  s_.truth.time_passed(boot_time{0});
  commit();
  for (const auto& name : some_workers) worker_reconnects(name);
}

} // namespace quell::controller::testing
