// Messages that leave the controller, compared with the disk at that instant: nothing uncommitted leaves.
#include <algorithm>

#include "controller/ledger/invariants.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;

void oracle::frame_leaves(const outgoing_frame& f) {
  if (const auto* s = std::get_if<wire::start>(&f.frame.body)) {
    start_leaves(f, *s);
  } else if (const auto* stop = std::get_if<wire::stop>(&f.frame.body)) {
    stops_left_[f.frame.session].push_back(*stop);
    stop_leaves(*stop);
  } else if (const auto* stored = std::get_if<wire::results_stored>(&f.frame.body)) {
    const auto worker =
        world_.controller.gate() ? world_.controller.gate()->workers().name_of_route(f.route) : std::nullopt;
    for (const auto& id : stored->operations) {
      const row* r = find(id);
      if (!r || !worker || r->record.hot.worker != worker) continue;
      if (!is_terminal_row(*r) && !r->record.hot.self_status)
        world_.violate("order", "the result of " + name(*r) + " is acknowledged and not on disk");
    }
  } else if (const auto* w = std::get_if<wire::welcome>(&f.frame.body)) {
    welcomed_[w->worker] = f.frame.session;
    lease_leaves(w->worker, w->lease, "a welcome");
  } else if (const auto* g = std::get_if<wire::lease_granted>(&f.frame.body)) {
    if (world_.controller.gate())
      if (const auto worker = world_.controller.gate()->workers().name_of_route(f.route))
        lease_leaves(*worker, g->length, "a lease");
  } else if (const auto* h = std::get_if<wire::handover>(&f.frame.body)) {
    if (world_.controller.gate())
      if (const auto worker = world_.controller.gate()->workers().name_of_route(f.route))
        lease_leaves(*worker, h->lease, "a handover");
  }
}

void oracle::lease_leaves(const std::string& worker, milliseconds length, const char* what) {
  const auto at = worker_rows_.find(worker);
  // Removed (and possibly enrolled again) in the same commit: the worker is told next.
  if (at == worker_rows_.end() || !at->second.joined_at) return;
  if (at->second.lease < length)
    world_.violate("order", std::string(what) + " of " + std::to_string(length.count()) + " ms leaves for " + worker +
                                ", and that is not on disk");
}

void oracle::start_leaves(const outgoing_frame& f, const wire::start& s) {
  const row* r = find(s.operation);
  if (!r) return world_.violate("order", "a START leaves for an operation that is not on disk");
  if (!starts_sent_.emplace(f.frame.session, f.frame.number).second) return; // a resend of a frame that was in flight
  // A leaving worker begins nothing: its farewell may have arrived already, and its unstarted tasks may be placed
  // elsewhere.
  bool is_read = false;
  for (std::size_t w = 0; w < workers_.size(); ++w)
    is_read = is_read || (world_.workers[w]->session() == f.frame.session && !workers_[w].leaves);
  if (!is_read) return; // its session is over: the frame was sent before, and is dropped unread
  if (!r->record.hot.worker)
    return world_.violate("order", "the START of " + name(*r) + " leaves, its assignment is not on disk");
  if (is_terminal_row(*r)) return world_.violate("no escape", "the START of " + name(*r) + " leaves, and it is over");
  if (s.seq != r->record.seq || s.as_of != r->record.as_of)
    world_.violate("order", "the START of " + name(*r) + " has other numbers");
  for (const auto& c : cancels_)
    if (c.fenced_reported && covers(c, *r))
      return world_.violate("no escape",
                            "the START of " + name(*r) + " leaves after " + world_.label(c.record.id) + " was fenced");
}

void oracle::stop_leaves(const wire::stop& s) {
  if (s.cancel && !cancel_by_id_.contains(*s.cancel) && !unwritten_cancels_.contains(*s.cancel))
    world_.violate("order", "the stop of a cancel leaves that is not on disk");
  if (s.seq >= seq_limit_ && !writes_failed_)
    world_.violate("order", "a stop leaves with a number that is not reserved");
}

void oracle::published(const records::event_record& e) {
  const std::string type(text_of(e));
  if (e.id > last_event_) return world_.violate("order", "the event " + type + " is told and not on disk");
  world_.note("events", [&] {
    return type + (e.operation ? " " + world_.label(*e.operation) : "") +
           (e.cancel ? " " + world_.label(*e.cancel) : "") + (e.worker ? " " + *e.worker : "");
  });
  if (e.operation && type.starts_with("operation_")) {
    row* r = find(*e.operation);
    if (!r) return world_.violate("order", type + " is told of an operation that is not on disk");
    r->stop_reported = r->stop_reported || e.type == event_type::operation_cancelling;
    if (ends_operation(e.type) && event_of_end(r->record.hot.now) != e.type)
      world_.violate("terminal is final",
                     type + " is told of " + name(*r) + ", which is " + std::string(name_of(r->record.hot.now)));
  }
  if (e.worker && type.starts_with("worker_"))
    for (std::size_t w = 0; w < workers_.size(); ++w)
      if (world_.name(w) == *e.worker && e.type != event_type::worker_draining)
        workers_[w].is_there = e.type == event_type::worker_joined;
  if (e.type == event_type::worker_joined && e.worker) strays_must_go(*e.worker);
  for (std::size_t w = 0; w < workers_.size() && e.type == event_type::worker_joined; ++w)
    if (world_.name(w) == e.worker) check_reports(w);
  if (!e.cancel) return;
  const auto at = cancel_by_id_.find(*e.cancel);
  if (at == cancel_by_id_.end()) return;
  auto& c = cancels_[at->second];
  if (e.type == event_type::cancel_fenced) c.fenced_reported = true;
  if (e.type == event_type::cancel_signalled && world_.controller.gate()) {
    c.signalled_reported = true;
    for (std::size_t w = 0; w < workers_.size(); ++w)
      if (workers_[w].is_there) c.reached.insert(world_.name(w));
  }
  if (e.type == event_type::cancel_settled && c.record.status != cancel_status::settled)
    world_.violate("order", world_.label(*e.cancel) + " is said to be settled, the disk says otherwise");
}

void oracle::output_closed(const operation_id& id) {
  if (!is_over(id)) world_.violate("order", "the output of an operation is closed that lives on disk");
}

void oracle::create_answered(const create_order& order, const operation_id& id, const outcome<created>& answer) {
  answered_.insert(id);
  if (!answer) {
    world_.note("client",
                [&] { return world_.label(id) + " is refused: " + std::string(text_of(answer.error().error.code)); });
    return;
  }
  (void)order;
  const row* r = find(answer->id);
  if (!r) return world_.violate("order", "a create is answered and not on disk");
  highest_seq_reported_ = std::max(highest_seq_reported_, r->record.seq);
}

void oracle::cancel_requested(const cancel_order&) {}

void oracle::cancel_answered(const cancel_order& order, const outcome<cancel_view>& answer) {
  if (!answer) {
    world_.note("client", [&] { return "a cancel is refused: " + std::string(text_of(answer.error().error.code)); });
    return;
  }
  const auto& record = answer->record;
  world_.note("client", [&] {
    return world_.label(record.id) + " is answered: " + std::string(name_of(record.outcome)) +
           (record.durable ? "" : ", not durable");
  });
  if (!record.durable) return;
  const auto at = cancel_by_id_.find(record.id);
  if (at == cancel_by_id_.end()) {
    if (!unwritten_cancels_.contains(record.id))
      world_.violate("order", world_.label(record.id) + " is answered as durable and not on disk");
    return;
  }
  auto& c = cancels_[at->second];
  c.fenced_reported = true;
  if (order.grace && record.outcome == cancel_outcome::joined) {
    c.nearest_grace = std::min(c.nearest_grace.value_or(*order.grace), *order.grace);
    const auto kept = c.record.tighter ? c.record.tighter : c.record.grace;
    if (c.record.status != cancel_status::settled && (!kept || *kept > *order.grace))
      world_.violate("order", world_.label(record.id) + " is answered as tighter, and that is not on disk");
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) check_reports(w);
  if (order.grace) check_owners(c, *order.grace);
  highest_seq_reported_ = std::max(highest_seq_reported_, record.seq);
}

/// Capacity is in use as long as a process that uses it lives. The ledger's tables agree with each other.
void oracle::controller_turned(commit_gate& core) {
  constexpr std::uint64_t turns_per_check = 16; // the check reads everything that is live
  if (++controller_turns_ % turns_per_check == 0)
    if (const auto broken = broken_invariants(core.operations()); !broken.empty())
      return world_.violate("tables", broken.front());
  if (controller_turns_ % turns_per_check == 0) check_held_back(core);
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].used == 0) continue;
    const auto held = core.operations().slots_on(world_.name(w));
    if (held >= workers_[w].used) continue;
    std::uint32_t owed = 0;
    std::string who;
    for (const auto& r : rows_)
      if (r.living > 0 && r.worker == w && !r.was_declared && world_.workers[w]->host().could_run(r.record.id)) {
        owed += r.slots;
        who += " " + name(r);
      }
    if (held < owed)
      return world_.violate("capacity", "the ledger counts " + std::to_string(held) + " slots on " + world_.name(w) +
                                            ", living processes use " + std::to_string(owed) + ":" + who);
  }
}

void oracle::declared(const operation_id& id) {
  declared_.insert(id);
  if (row* r = find(id)) r->was_declared = true;
}

void oracle::worker_declared(std::size_t worker) {
  workers_[worker].was_declared = true;
  const std::string called = world_.name(worker);
  for (auto& r : rows_)
    if (!is_terminal_row(r) && r.record.hot.worker == called) r.was_declared = true;
}

} // namespace quell::simulation
