// The gate in detail: absorb() moves effects from ledger to fleet and into the transaction, end_turn() submits,
// committed() releases.
#include "controller/core.hpp"

#include <algorithm>
#include <utility>

#include "controller/audit.hpp"

namespace quell::controller {

namespace {

/// Ticks come at least once a second. After a longer silence this process itself was stalled (or its host slept).
constexpr std::chrono::seconds stalled_after{5};

bool is_create(const storage::entry& e) { return std::holds_alternative<storage::put_operation>(e); }

/// The store lacked room or was locked: memory is ahead of the disk in a known way. After any other failure only the
/// disk shows what was written (DESIGN 3.11).
bool may_be_tried_again(const fault& why) {
  return why.code == "disk_full" || why.code == "database_locked" || why.code == "read_only" ||
         why.code == "store_mismatch";
}

refusal storage_refusal(const fault& why) {
  return {fault{"storage_unavailable",
                "Nothing was done: the store cannot write (" + why.detail + "). Free space, then repeat.",
                {}},
          {},
          {}};
}

} // namespace

core::core(core_settings s, storage::recovered_state recovered, core_edges& edges, moment now)
    : edges_(edges), now_(now) {
  auto workers = recovered.workers;
  const auto cluster = recovered.cluster;
  const auto epoch = recovered.epoch;
  std::vector<std::pair<operation_id, std::string>> adopted;
  for (const auto& record : recovered.live)
    if (record.hot.worker) adopted.emplace_back(record.id, *record.hot.worker);
  ledger_ = ledger::make(s.ledger, std::move(recovered), now);
  fleet_ = fleet::make(s.fleet, *ledger_, std::move(workers), cluster, epoch, std::move(s.token_for), now);
  ledger_->ask_reachability([this](const std::string& worker) { return fleet_->reach(worker); });
  for (const auto& [id, worker] : adopted) edges_.output_expected(id, worker);
  sweeping_ = true;
  absorb(now);
  end_turn(now);
}

void core::create(const create_order& order, operation_id fresh, reply<outcome<created>> done, moment now) {
  if (edges_.storage_low()) {
    done(tl::unexpected(storage_refusal({"storage_unavailable", "the state directory is almost full", {}})));
    return;
  }
  auto answer = ledger_->create(order, fresh, now);
  absorb(now);
  turn_.answers.push_back([answer = std::move(answer), done = std::move(done)](bool durable) {
    if (durable || !answer)
      done(answer);
    else
      done(tl::unexpected(storage_refusal({"storage_unavailable", "the write failed", {}})));
  });
  dirty_ = true; // a refusal writes nothing and waits for nothing
}

void core::create_many(const std::vector<create_order>& orders, const std::vector<operation_id>& fresh,
                       reply<std::vector<outcome<created>>> done, moment now) {
  std::vector<outcome<created>> answers;
  answers.reserve(orders.size());
  const bool is_low = edges_.storage_low();
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (is_low)
      answers.push_back(
          tl::unexpected(storage_refusal({"storage_unavailable", "the state directory is almost full", {}})));
    else
      answers.push_back(ledger_->create(orders[i], fresh[i], now));
  }
  absorb(now);
  turn_.answers.push_back([answers = std::move(answers), done = std::move(done)](bool durable) mutable {
    for (auto& answer : answers)
      if (!durable && answer) answer = tl::unexpected(storage_refusal({"storage_unavailable", "the write failed", {}}));
    done(std::move(answers));
  });
  dirty_ = true;
}

void core::cancel(const cancel_order& order, cancel_id fresh, reply<outcome<cancel_view>> done, moment now) {
  auto answer = ledger_->cancel(order, fresh, now);
  if (answer && !order.dry_run && answer->record.outcome != cancel_outcome::joined)
    turn_.fence.push_back(answer->record.id);
  // In the cancel's own transaction, so that no cancel exists without its author's name.
  if (answer && !order.dry_run) ledger_->add_event(audit_of_cancel(order, answer->record.id), now);
  absorb(now);
  // The answer is the cancel as accepted, now fenced: later changes (signalled, settled) can still be missing on disk.
  const bool fences = answer && !order.dry_run && answer->record.outcome != cancel_outcome::joined;
  turn_.answers.push_back([this, fences, answer = std::move(answer), received = order.received,
                           done = std::move(done)](bool durable) mutable {
    if (answer && answer->record.outcome == cancel_outcome::joined && !durable) answer->record.durable = false;
    if (fences) {
      answer->record.durable = durable;
      auto& times = answer->record.report;
      times.fenced_ms = static_cast<double>((now_.boot - received).count()) / 1e6;
      if (answer->record.status == cancel_status::settled) { // nothing was live, so the cancel is complete
        times.signalled_ms = times.settled_ms = times.fenced_ms;
        answer->proven = true;
      }
    }
    done(answer);
  });
  sweeping_ = true;
  end_turn(now);
}

void core::turn(const std::function<std::function<void()>(ledger&, fleet&, moment)>& ask, moment now) {
  auto answer = ask(*ledger_, *fleet_, now);
  absorb(now);
  turn_.answers.push_back([answer = std::move(answer)](bool) { answer(); });
  dirty_ = true;
}

void core::judge(const std::function<said(ledger&, moment)>& ask, moment now) {
  auto answer = ask(*ledger_, now);
  if (answer.fences) turn_.fence.push_back(*answer.fences);
  absorb(now);
  turn_.answers.push_back([then = std::move(answer.then)](bool durable) { then(durable); });
  dirty_ = true;
  if (!answer.fences) return;
  sweeping_ = true;
  end_turn(now);
}

void core::written_turn(const std::function<std::function<void(bool durable)>(ledger&, moment)>& ask, moment now) {
  auto answer = ask(*ledger_, now);
  absorb(now);
  turn_.answers.push_back(std::move(answer));
  dirty_ = true;
}

void core::write(std::vector<storage::entry> rows, reply<result<void>> done, moment now) {
  for (auto& row : rows) batch_.push_back(std::move(row));
  absorb(now);
  turn_.answers.push_back([done = std::move(done)](bool durable) {
    if (durable)
      done({});
    else
      done(failure("storage_unavailable", "Nothing was written: the store is full. Free space, then repeat."));
  });
  end_turn(now);
}

void core::drop_old(const service::old_things& what, reply<bool> done, moment now) {
  // A cancel that comes right after this waits for one small transaction.
  const bool is_idle = gate_.empty() && batch_.empty() && !sweeping_;
  if (!(what.insist ? may_sweep() : is_idle)) {
    done(false);
    return;
  }
  end_turn(now); // effects of earlier messages go in a transaction of their own
  ledger_->forget(what.operations, what.cancels);
  for (const auto& id : what.operations) batch_.emplace_back(storage::drop_operation{id});
  for (const auto& id : what.cancels) batch_.emplace_back(storage::drop_cancel{id});
  if (what.events_up_to > 0) batch_.emplace_back(storage::drop_events{what.events_up_to});
  turn_.answers.push_back([done = std::move(done)](bool durable) { done(durable); });
  end_turn(now);
}

void core::frame(const std::string& route, const std::string& public_key, const wire::envelope& e, moment now,
                 std::optional<boot_time> arrived) {
  if (const auto* end = std::get_if<wire::task_ended>(&e.body)) count_output(public_key, e.session, *end);
  fleet_->frame(route, public_key, e, now, arrived);
  if (const auto* h = std::get_if<wire::hello>(&e.body))
    for (const auto& end : h->results) count_output(public_key, h->proposed, end);
  absorb(now);
}

/// A count from outside a live session, or for another worker's task, must not end that task's output early.
void core::count_output(const std::string& public_key, const session_id& session, const wire::task_ended& end) {
  if (fleet_->session_of_key(public_key) != session) return;
  if (const auto worker = fleet_->name_of_key(public_key)) edges_.output_counted(end.operation, *worker, end.output);
}

void core::strange_version(const std::string& route, const std::string& public_key, std::uint32_t version, moment now) {
  fleet_->strange_version(route, public_key, version, now);
  absorb(now);
}

/// Passes effects on until neither side has more. Order matters: a stop reaches the fleet before anything is placed
/// after it.
void core::absorb(moment now) {
  now_ = now;
  for (;;) {
    auto l = ledger_->take();
    const bool quiet = l.empty();
    if (!quiet) {
      for (auto& e : l.journal) batch_.push_back(std::move(e));
      for (auto& order : l.stops) fleet_->send_stop(order, now);
      for (auto& [need, id] : l.placeable) fleet_->enqueue(need, id);
      for (auto& [worker, slots] : l.freed) fleet_->slots_freed(worker, slots, now);
      for (auto& s : l.stored) turn_.stored.push_back(std::move(s));
      for (auto& e : l.ended) turn_.ended.push_back(std::move(e));
      for (auto& s : l.signals) turn_.signals.push_back(std::move(s));
      for (auto& s : l.owner_signals) turn_.owner_signals.push_back(std::move(s));
      placing_ = placing_ || !l.placeable.empty() || !l.freed.empty();
    }
    auto f = fleet_->take();
    for (const auto& frame : f.urgent) edges_.send(frame);
    for (auto& e : f.journal) batch_.push_back(std::move(e));
    for (auto& frame : f.ordered) turn_.frames.push_back(std::move(frame));
    if (f.allowed_keys) edges_.allow_keys(std::move(*f.allowed_keys));
    if (placing_) {
      placing_ = false;
      // Starts beyond one call's limit wait for the next transaction, so that a cancel never waits for a long round of
      // placing.
      more_to_place_ = fleet_->place(now);
      continue;
    }
    if (quiet && f.empty()) break;
  }
  if (!batch_.empty() || !turn_.frames.empty() || !turn_.stored.empty()) dirty_ = true;
}

void core::end_turn(moment now) {
  now_ = now;
  dirty_ = false;
  submit_turn();
}

void core::submit_turn() {
  const bool nothing = batch_.empty() && turn_.frames.empty() && turn_.stored.empty() && turn_.ended.empty() &&
                       turn_.signals.empty() && turn_.owner_signals.empty() && turn_.answers.empty() &&
                       turn_.fence.empty();
  if (nothing) return;
  if (!unwritten_.empty() && std::any_of(batch_.begin(), batch_.end(), storage::speaks_of_ends)) take_up_unwritten();
  for (const auto& e : batch_) {
    if (const auto* event = std::get_if<storage::put_event>(&e)) turn_.events.push_back(event->record);
    turn_.creates = turn_.creates || is_create(e);
  }
  if (!batch_.empty()) {
    // Every transaction uses numbers that an earlier one reserves; until that reservation is on disk each one repeats
    // it.
    const auto limit = reservation(batch_);
    if (limit) reserving_ = std::max(reserving_.value_or(0), *limit);
    if (reserving_ && limit < reserving_) batch_.emplace_back(storage::reserve_seq{*reserving_});
    turn_.reserves = reserving_;
    if (!unwritten_.empty()) unwritten_.overtaken_by(row_keys(batch_));
    if (turn_.creates) turn_.keys = row_keys(batch_);
    if (!turn_.creates || turn_.took_up) turn_.retry = batch_;
    submitted_ = edges_.submit(std::exchange(batch_, {}));
  }
  turn_.ticket = submitted_;
  if (turn_.ticket <= committed_ && gate_.empty()) {
    auto g = std::exchange(turn_, {});
    release(g, now_);
    return;
  }
  gate_.push_back(std::exchange(turn_, {}));
}

void core::committed(const storage::journal::commit_notice& notice, moment now) {
  now_ = now;
  committed_ = std::max(committed_, notice.ticket);
  if (notice.failure) edges_.refusal_known(notice.ticket);
  for (auto& g : gate_)
    if (notice.failure && g.ticket == notice.ticket) g.failure = notice.failure;
  while (!gate_.empty() && gate_.front().ticket <= committed_) {
    auto g = std::move(gate_.front());
    gate_.pop_front();
    release(g, now);
  }
  absorb(now);
  end_turn(now);
}

void core::release(gated& g, moment now) {
  const bool durable = !g.failure;
  if (durable && g.reserves && g.reserves == reserving_) reserving_.reset();
  for (const auto& frame : g.frames) {
    // If the write failed only stops leave: an assignment or a lease that is not on disk must not leave.
    if (!durable && !std::holds_alternative<wire::stop>(frame.frame.body)) {
      fleet_->frame_withheld(frame.route, now);
      continue;
    }
    if (const auto* start = std::get_if<wire::start>(&frame.frame.body)) {
      const auto live = ledger_->view(start->operation, now);
      if (!live || live->hot.own_end) { // declared dead while it waited here, or since it left
        // Its number is taken, so some frame must carry it: an empty message.
        auto nothing = frame;
        nothing.frame.body = wire::results_stored{};
        edges_.send(nothing);
        fleet_->frame_left(frame.route, frame.frame.number, now);
        continue;
      }
      if (const auto worker = fleet_->name_of_route(frame.route)) edges_.output_expected(start->operation, *worker);
    }
    edges_.send(frame);
    fleet_->frame_left(frame.route, frame.frame.number, now);
  }
  for (const auto& s : g.signals) edges_.signal(s);
  for (const auto& s : g.owner_signals) edges_.tell_owner(s);
  // After the frames: the callers of a stop wait for the frames.
  for (const auto& id : g.fence) ledger_->cancel_fenced(id, durable, now);
  for (auto& answer : g.answers) answer(durable);
  if (durable)
    for (const auto& event : g.events) edges_.publish(event);
  if (durable) {
    for (const auto& [worker, id] : g.stored)
      if (!is_acknowledged_later(worker, id)) fleet_->result_stored(worker, id, now);
    for (const auto& e : g.ended) {
      edges_.output_closes(e.id);
      edges_.ended(e);
    }
  } else if (g.creates || !may_be_tried_again(*g.failure)) {
    edges_.fail_stop(*g.failure);
  } else {
    keep_for_later(g);
  }
  absorb(now);
}

std::optional<boot_time> core::tick(moment now) {
  now_ = now;
  if (last_tick_ && now.boot - *last_tick_ > stalled_after) ledger_->externals()->was_stalled(now);
  last_tick_ = now.boot;
  if (!edges_.storage_low() && !unwritten_.empty()) write_again(now);
  edges_.ticked(now);
  const auto fleet_next = fleet_->tick(now);
  auto next = end_burst(now);
  if (fleet_next && (!next || *fleet_next < *next)) next = fleet_next;
  // If the gate is full, the next commit continues the sweep.
  if (dirty()) next = now.boot;
  return next;
}

std::optional<boot_time> core::end_burst(moment now) {
  now_ = now;
  // A start can have brought a deadline that is nearer than the next tick.
  const auto next = ledger_->tick(now);
  // One slice of a sweep at a time, and only after the journal has written the earlier ones: a new cancel waits for at
  // most one slice.
  if (may_sweep()) sweeping_ = ledger_->step(now);
  placing_ = true;
  absorb(now);
  end_turn(now);
  return next;
}

} // namespace quell::controller
