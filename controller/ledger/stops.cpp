// Stops that are not cancels: timeout, superseded, drain, removal or loss of a worker. Also who must be notified of a
// stop.
#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

void live_ledger::add_stop_below(stop_messages& messages, index x) const {
  for (const index worker : operations_.workers_of(x)) messages[worker].operations.push_back(operations_[x].id);
}

void live_ledger::send(stop_messages messages, std::uint64_t seq, stop_cause cause, std::optional<cancel_id> cancel,
                       std::optional<milliseconds> grace) {
  for (auto& [worker, message] : messages) {
    message.seq = seq;
    // Workers, also older ones, run nothing but what lies below a turn whose budget is used up.
    message.cause = cause == stop_cause::budget ? stop_cause::parent_ended : cause;
    message.cancel = cancel;
    message.grace = grace;
    effects_.stops.push_back({{workers_[worker]}, std::move(message)});
  }
}

void live_ledger::stop_operations(const std::vector<index>& targets, stop_cause cause, moment now,
                                  const stop_words* words) {
  std::vector<std::pair<index, std::uint64_t>> fresh;
  for (const index x : targets)
    if (!stop_of(x)) fresh.emplace_back(x, operations_[x].seq);
  if (fresh.empty()) return;
  const std::uint64_t seq = take_seq();
  stop_messages messages;
  for (const auto& [x, guard] : fresh) add_stop_below(messages, x);
  send(std::move(messages), seq, cause, std::nullopt, std::nullopt);
  for (const auto& [x, guard] : fresh) {
    if (!is_same(x, guard)) continue; // it ended with one of the others
    const auto above = stop_of(x);    // one of the others can lie above it
    const bool has_more = operations_[x].live_below > 1;
    apply_stop(x, above ? *above : found_stop{seq, cause, std::nullopt, words}, now);
    if (has_more && is_same(x, guard)) queue_below(x);
  }
}

std::size_t live_ledger::stop_worker(const std::string& worker, stop_cause cause, moment now) {
  const index w = known_worker(worker);
  const std::vector<index> held = operations_.held_by(w);
  stop_operations(held, cause, now);
  return held.size();
}

std::size_t live_ledger::stop_worker_for(const std::string& worker, stop_cause cause, const stop_words& why,
                                         moment now) {
  const std::vector<index> held = operations_.held_by(known_worker(worker));
  stop_operations(held, cause, now, &why);
  return held.size();
}

outcome<operation_id> live_ledger::declare_dead(const operation_id& id, const std::string& reason, const caller& by,
                                                moment now) {
  (void)reason; // is in the audit event
  const auto refuse = [&](error_code code, std::string detail) {
    return tl::unexpected<refusal>(refusal{coded_fault{code, std::move(detail), {}}, {}, id});
  };
  const index x = find(id);
  if (x == none) {
    const ended_trace* trace = recent_.find(id);
    if (trace == nullptr) return refuse(error_code::operation_not_found, "there is no live operation " + id.text());
    return refuse(error_code::already_terminal,
                  "operation " + id.text() + " has ended (" + std::string(name_of(trace->as)) + ")");
  }
  if (!sees(by, x)) return refuse(error_code::operation_not_found, "there is no live operation " + id.text());
  const auto stop = stop_of(x);
  if (!stop)
    return refuse(error_code::not_cancelling,
                  "operation " + id.text() + " is not being stopped; cancel it first, then declare it dead");
  if (operations_[x].is_over())
    return refuse(error_code::not_cancelling,
                  "operation " + id.text() + " is gone already; it waits for what it has started");
  if (!operations_[x].is_stopped()) apply_stop(x, *stop, now);
  if (find(id) == x && !operations_[x].is_over()) {
    kill_declared(x);
    end_own_work(x, stopped_end(x, receipt::declared, proof::none), now);
  }
  return id;
}

/// A declaration kills nothing: if the worker answers again, it must still kill the operation that was declared dead.
void live_ledger::kill_declared(index x) {
  const operation_node& n = operations_[x];
  if (!n.is_held()) return;
  wire::stop order;
  order.seq = take_seq();
  order.cause = stop_cause::worker_lost;
  order.operations = {n.id};
  order.grace = milliseconds{0};
  effects_.stops.push_back({{workers_[n.worker]}, std::move(order)});
}

std::size_t live_ledger::declare_worker_dead(const std::string& worker, const std::string& reason, moment now) {
  (void)reason;
  const index w = known_worker(worker);
  std::size_t count = 0;
  for (const index x : operations_.held_by(w)) {
    const auto known = stop_of(x);
    const std::uint64_t guard = operations_[x].seq;
    const bool has_more = operations_[x].live_below > 1;
    found_stop stop = known.value_or(found_stop{0, stop_cause::worker_lost, std::nullopt});
    if (!known) stop.seq = take_seq();
    if (!known && has_more) { // what it has started on other workers, and in other runtimes, is not gone with it
      stop_messages messages;
      add_stop_below(messages, x);
      send(std::move(messages), stop.seq, stop_cause::worker_lost, std::nullopt, std::nullopt);
    }
    set_stop(x, stop, announce::no, now);
    kill_declared(x);
    end_own_work(x, stopped_end(x, receipt::declared, proof::none), now);
    if (!known && has_more && is_same(x, guard)) queue_below(x);
    ++count;
  }
  if (w != none) worker_is_done(w, now);
  return count;
}

} // namespace quell::controller::live
