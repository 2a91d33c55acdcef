// The moves of phases and statuses. A move that its table forbids is refused: the core's owner learns of it and stops
// the operation (`stop_forbidden`), which ends as failed once that is proven. Nothing else is touched.
#include "controller/ledger/live_ledger.hpp"
#include "protocol/lifecycle.hpp"

namespace quell::controller::live {

bool live_ledger::set_status(index x, status to) {
  const operation_node& n = operations_[x];
  if (n.now == to) return true;
  if (!may_move(n.now, to)) {
    forbid(x, name_of(n.now), name_of(to));
    return false;
  }
  operations_.set_status(x, to);
  return true;
}

bool live_ledger::enter_phase(index x, phase to) {
  const operation_node& n = operations_[x];
  if (!may_move(n.phase, to)) {
    forbid(x, name_of(n.phase), name_of(to));
    return false;
  }
  operations_.set_phase(x, to);
  return true;
}

void live_ledger::forbid(index x, std::string_view from, std::string_view to) {
  effects_.forbidden.push_back({operations_[x].id, from, to});
}

bool live_ledger::has_forbidden_move(index x) const {
  const auto& more = operations_[x].details;
  return more && more->error && has_code(*more->error, failure_code::forbidden_move);
}

void live_ledger::stop_forbidden(const forbidden_move& move, moment now) {
  const index x = find(move.operation);
  if (x == none || operations_[x].is_over() || stop_of(x)) return; // an earlier stop decides how it ends
  details(x).error = records::own_error(failure_code::forbidden_move,
                                        "it was stopped, because it may not go from " + std::string(move.from) +
                                            " to " + std::string(move.to) + "; report this with quelld's log");
  stop_operations({x}, stop_cause::worker_lost, now);
}

/// Its own work and everything below it have ended, but its status does not allow this end. Every live status can be
/// stopped, and an operation that was stopped can end as failed or cancelled.
void live_ledger::end_against_table(index x, moment now) {
  operation_node& n = operations_[x];
  if (is_terminal(n.now)) { // of a broken row: terminal is final
    n.self_status = n.now;
    return;
  }
  if (n.self_status != status::cancelled) {
    details(x).error = records::own_error(failure_code::forbidden_move,
                                          "it may not go from " + std::string(name_of(n.now)) + " to " +
                                              std::string(name_of(n.self_status)) + "; report this with quelld's log");
    n.self_status = status::failed;
  }
  if (!may_move(n.now, n.self_status)) {
    set_status(x, status::cancelling);
    write_row(x);
    write_event(event_type::operation_cancelling, x, now);
  }
  set_status(x, n.self_status);
}

} // namespace quell::controller::live
