// Placing, and the workers' reports about single tasks. Any report can be repeated, late, or about an operation that
// has ended.
#include <algorithm>

#include "controller/json/instant.hpp"
#include "controller/ledger/limits.hpp"
#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

bool live_ledger::is_placeable(const operation_id& id) const {
  const index x = find(id);
  return x != none && operations_[x].kind == quell::kind::task && operations_[x].now == status::pending &&
         operations_[x].phase == phase::ready && !stop_of(x);
}

bool live_ledger::may_take_slots(const operation_id& id) {
  const index x = find(id);
  return x == none || operations_.may_take_slots(x);
}

const requirement* live_ledger::need_of(const operation_id& id) const {
  return is_placeable(id) ? &operations_.need_of(find(id)) : nullptr;
}

std::optional<wire::start> live_ledger::assign(const operation_id& id, const std::string& worker, moment now) {
  if (!is_placeable(id)) return std::nullopt;
  const index x = find(id);
  operation_node& n = operations_[x];
  enter_phase(x, phase::sent);
  operations_.hold(x, worker_index(worker));
  write_row(x);
  wire::start s;
  s.operation = n.id;
  s.seq = n.seq;
  s.as_of = n.as_of;
  s.scope = scopes_[n.scope].path;
  s.root = n.id;
  for (index at = operation_parent(x); at != none; at = operation_parent(at)) {
    s.ancestors.push_back(operations_[at].id);
    s.root = operations_[at].id;
  }
  s.spec = n.spec.decode();
  const requirement& need = operations_.need_of(x);
  s.spec.worker = need.worker;
  s.spec.on = need.on;
  s.spec.slots = need.slots;
  s.spec.least_containment = need.least;
  s.grace = n.grace;
  if (n.details && n.details->timeout.count() > 0) s.deadline = now.wall + n.details->timeout;
  // An ancestor can have a nearer deadline, which ends this operation, too.
  for (index at = operation_parent(x); at != none; at = operation_parent(at)) {
    const auto& above = operations_[at].details;
    if (above && above->deadline_at && (!s.deadline || *above->deadline_at < *s.deadline))
      s.deadline = above->deadline_at;
  }
  return s;
}

void live_ledger::note_waiting(const operation_id& id, std::string what, std::string detail, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].has_begun()) return;
  operation_node& n = operations_[x];
  if (operations_.wait_for(x, {std::move(what), std::move(detail)})) n.since = now.wall;
}

void live_ledger::started(const std::string& worker, const wire::task_started& m, moment now) {
  const index x = find(m.operation);
  if (x == none || !operations_[x].is_held() || workers_[operations_[x].worker] != worker) return;
  if (operations_[x].has_begun()) return;
  details(x).pid = m.pid;
  details(x).level = m.level;
  begin(x, m.at, now);
}

void live_ledger::stopping(const std::string& worker, const wire::task_stopping& m, moment now) {
  const index x = find(m.operation);
  if (x == none || !operations_[x].is_held() || workers_[operations_[x].worker] != worker) return;
  const auto stop = stop_of(x);
  if (!stop) return;
  set_stop(x, *stop, announce::no, now);
  records::stop_state& state = *details(x).stop;
  const auto before = state;
  if (!state.signalled_at) state.signalled_at = m.signalled_at;
  if (!state.kill_at || m.kill_at < *state.kill_at) state.kill_at = m.kill_at;
  if (operations_[x].now != status::cancelling)
    set_stop(x, *stop, announce::yes, now);
  else if (state != before)
    write_row(x);
}

void live_ledger::unproven(const std::string& worker, const wire::task_unproven& m, moment now) {
  const index x = find(m.operation);
  if (x == none || !operations_[x].is_held() || workers_[operations_[x].worker] != worker) return;
  details(x).unproven = std::make_unique<wire::task_unproven>(within_limits(m));
  std::vector<cancel_run*> runs;
  runs_.covering(x, runs);
  for (const cancel_run* run : runs) runs_.note_change(*run);
  (void)now;
}

void live_ledger::output_counts(const operation_id& id, const quell::output_counts& counts) {
  const index x = find(id);
  if (x != none) details(x).output = counts;
}

void live_ledger::ended(const std::string& worker, const wire::task_ended& m, moment now) {
  if (!is_within_limits(m)) return ended(worker, within_limits(m), now);
  effects_.stored.emplace_back(worker, m.operation);
  const index x = find(m.operation);
  if (x == none) {
    note_late(m.operation, m);
    return;
  }
  operation_node& n = operations_[x];
  if (!n.is_held() || workers_[n.worker] != worker) return; // already counted, or not this worker's operation
  // Being released to start is not a start: an exec that failed never ran.
  const bool ran = m.started_at != wall_time{} && m.error_code != name_of(failure_code::start_failed) &&
                   m.evidence != proof::never_ran;
  const auto stop = stop_of(x);
  if (ran && !n.has_begun()) begin(x, m.started_at, now);
  // A start and a stop at once: the two frames can be read in either order, with the same chain.
  operation_details& d = details(x);
  d.output.stdout_bytes = std::max(d.output.stdout_bytes, m.output.stdout_bytes);
  d.output.stderr_bytes = std::max(d.output.stderr_bytes, m.output.stderr_bytes);
  d.output.dropped_bytes = std::max(d.output.dropped_bytes, m.output.dropped_bytes);
  if (m.exit) d.exit = m.exit;

  const bool never_ran = m.evidence == proof::never_ran && !n.has_begun();
  // The worker reported earlier that it runs: both reports agree only that it is gone.
  const bool contradicts = m.evidence == proof::never_ran && n.has_begun();
  const proof evidence = contradicts ? proof_of(d.level.value_or(containment::group)) : m.evidence;
  const auto reported = contradicts ? std::nullopt : m.how;
  if (m.error_code == name_of(failure_code::worker_lost)) { // cleared by a later life of the worker
    const receipt how = never_ran ? receipt::never_started : reported.value_or(receipt::killed);
    lose(x, evidence, how, m.error_message, now);
    return;
  }
  if (m.stop_seq != 0 && stop) {
    const receipt how = reported.value_or(never_ran ? receipt::never_started : receipt::terminated);
    if (!n.is_stopped()) set_stop(x, *stop, announce::no, now);
    self_status e = stopped_end(x, how, evidence);
    e.exit = m.exit;
    end_own_work(x, std::move(e), now);
    return;
  }
  if (m.left_total > 0) {
    d.left = std::make_unique<wire::task_ended>();
    d.left->left_total = m.left_total;
    d.left->left = m.left;
  }
  self_status e; // it ended by itself, whatever was ordered meanwhile
  e.exit = m.exit;
  if (!m.error_code.empty())
    e.error = records::operation_error{m.error_code, m.error_message};
  else if (m.stop_seq != 0)
    e.error = records::own_error(failure_code::error, "its worker stopped it without an order from here");
  else if (m.exit)
    e.error = error_of(*m.exit);
  else
    e.error = records::own_error(failure_code::start_failed, "it never ran");
  e.as = e.error ? status::failed : status::completed;
  end_own_work(x, std::move(e), now);
}

void live_ledger::note_late(const operation_id& id, const wire::task_ended& m) {
  records::operation_hot* hot = silent_ends_.find(id);
  if (hot == nullptr || !hot->late.empty()) return;
  // Kept beside the terminal status, which it never replaces.
  std::string json = "{\"evidence\":\"" + std::string(name_of(m.evidence)) + "\"";
  if (m.how) json += ",\"receipt\":\"" + std::string(name_of(*m.how)) + "\"";
  if (m.exit && m.exit->code) json += ",\"exit\":{\"code\":" + std::to_string(*m.exit->code) + "}";
  if (m.exit && m.exit->signal && m.exit->signal->size() <= 16 &&
      std::all_of(m.exit->signal->begin(), m.exit->signal->end(),
                  [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-'; }))
    json += ",\"exit\":{\"signal\":\"" + *m.exit->signal + "\"}";
  json += ",\"ended_at\":\"" + http::instant_text(m.ended_at) + "\"}";
  hot->late = std::move(json);
  effects_.journal.emplace_back(records::update_operation{id, *hot});
}

} // namespace quell::controller::live
