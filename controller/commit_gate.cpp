// The gate in detail: absorb() moves effects from ledger to fleet and into the transaction, end_transaction() submits,
// committed() releases.
#include "controller/commit_gate.hpp"

#include <algorithm>
#include <utility>

#include "controller/first_turn.hpp"
#include "controller/store_code.hpp"

namespace quell::controller {

namespace {

/// Ticks come at least once a second. After a longer silence this process itself was stalled (or its host slept).
constexpr std::chrono::seconds stalled_after{5};

bool is_create(const records::entry& e) { return std::holds_alternative<records::put_operation>(e); }

std::size_t place_of(const scope_path& scope) { return std::hash<std::string>{}(scope.text()); }

/// The scope whose conversation this changes, if it names it. The end of an operation is a change, too: a task can have
/// been in the background of its scope's conversation, whether it had begun or not.
const scope_path* conversation_of(const records::entry& e) {
  if (const auto* message = std::get_if<records::put_message>(&e)) return &message->record.scope;
  const auto* event = std::get_if<records::put_event>(&e);
  return event && ends_operation(event->record.type) && event->record.scope ? &*event->record.scope : nullptr;
}

/// A change of what the model is told that does not name its scope.
bool changes_some_conversation(const records::entry& e) {
  return std::holds_alternative<records::discard_message>(e) || std::holds_alternative<records::put_turn_ending>(e) ||
         std::holds_alternative<records::put_call_result>(e);
}

/// The store lacked room or was locked: memory is ahead of the disk in a known way. After any other failure only the
/// disk shows what was written (DESIGN 3.11).
bool may_be_tried_again(const fault& why) {
  return has_code(why, store_code::disk_full) || has_code(why, store_code::database_locked) ||
         has_code(why, store_code::read_only) || has_code(why, store_code::store_mismatch);
}

/// The ledger can have given its owner more time because the disk was slow.
constexpr milliseconds perhaps_late{50};
void give_its_grace(external_signal& of, const ledger& operations, moment now) {
  const auto live = operations.view(of.operation, now);
  if (!live || !live->hot.stop || !live->hot.stop->kill_at) return;
  of.kill_at = *live->hot.stop->kill_at;
  of.since = live->hot.stop->signalled_at.value_or(of.since);
}

} // namespace

commit_gate::commit_gate(commit_gate_settings s, records::recovered_state recovered, commit_gate_edges& edges,
                         moment now)
    : edges_(edges), now_(now), last_run_(now.boot) {
  auto workers = recovered.workers;
  const auto cluster = recovered.cluster;
  const auto epoch = recovered.epoch;
  std::vector<std::pair<operation_id, std::string>> adopted;
  const auto note_adopted = [&adopted](const std::vector<records::operation_record>& live) {
    for (const auto& record : live)
      if (record.hot.worker) adopted.emplace_back(record.id, *record.hot.worker);
  };
  note_adopted(recovered.live);
  if (recovered.more_live)
    recovered.more_live = [&note_adopted, more = std::move(recovered.more_live)] {
      auto some = more();
      note_adopted(some);
      return some;
    };
  ledger_ = ledger::make(s.ledger, std::move(recovered), now);
  fleet_ = fleet::make(s.fleet, *ledger_, std::move(workers), cluster, epoch, std::move(s.token_for), now);
  ledger_->ask_reachability([this](const std::string& worker) { return fleet_->reach(worker); });
  for (const auto& [id, worker] : adopted) edges_.output_expected(id, worker);
  sweeping_ = true;
  absorb(now);
  end_transaction(now);
}

void commit_gate::ask(const question& what, moment now) {
  auto answer = what(*this, now);
  if (!answer) return;
  if (!dirty_ && gate_.empty()) return answer(); // everything that it can tell of is on disk
  transaction_.answers.push_back([answer = std::move(answer)](bool) { answer(); });
  dirty_ = true;
  expects_more_ = false;
}

void commit_gate::frame(const std::string& route, const std::string& public_key, const wire::envelope& e, moment now,
                        std::optional<boot_time> arrived) {
  requested_by_ = "a frame of a worker";
  if (const auto* end = std::get_if<wire::task_ended>(&e.body)) count_output(public_key, e.session, *end);
  fleet_->frame(route, public_key, e, now, arrived);
  if (const auto* h = std::get_if<wire::hello>(&e.body))
    for (const auto& end : h->results) count_output(public_key, h->proposed, end);
  absorb(now);
}

/// A count from outside a live session, or for another worker's task, must not end that task's output early.
void commit_gate::count_output(const std::string& public_key, const session_id& session, const wire::task_ended& end) {
  if (fleet_->session_of_key(public_key) != session) return;
  if (const auto worker = fleet_->name_of_key(public_key)) edges_.output_counted(end.operation, *worker, end.output);
}

void commit_gate::unsupported_version(const std::string& route, const std::string& public_key, std::uint32_t version,
                                      moment now) {
  fleet_->unsupported_version(route, public_key, version, now);
  absorb(now);
}

/// A signal of a fenced cancel leaves at once, and the row of the stop follows. Other stops wait for their rows.
/// Everything that was submitted before the cancel is on disk, so no signal that waits is of the same operation.
void commit_gate::add_signals(ledger_effects& l) {
  for (auto& s : l.signals) (s.is_fenced ? fenced_signals_ : transaction_.signals).push_back(std::move(s));
  for (auto& s : l.owner_signals)
    (s.is_fenced ? fenced_owner_signals_ : transaction_.owner_signals).push_back(std::move(s));
}

/// Passes effects on until neither side has more. Order matters: a stop reaches the fleet before anything is placed
/// after it.
void commit_gate::absorb(moment now) {
  now_ = now;
  for (;;) {
    auto l = ledger_->take();
    const bool quiet = l.empty();
    if (!quiet) {
      if (batch_.empty())
        batch_ = std::move(l.journal);
      else
        for (auto& e : l.journal) batch_.push_back(std::move(e));
      for (auto& order : l.stops) fleet_->send_stop(order, now);
      for (const auto& [need, ids] : l.placeable) fleet_->enqueue(need, ids);
      for (auto& [worker, slots] : l.freed) fleet_->slots_freed(worker, slots, now);
      for (auto& s : l.stored) transaction_.stored.push_back(std::move(s));
      for (auto& e : l.ended) transaction_.ended.push_back(std::move(e));
      add_signals(l);
      for (const auto& move : l.forbidden) {
        edges_.move_forbidden(move, requested_by_);
        ledger_->stop_forbidden(move, now);
      }
      placing_ = placing_ || !l.placeable.empty() || !l.freed.empty();
    }
    auto f = fleet_->take();
    for (const auto& frame : f.urgent) edges_.send(frame);
    for (auto& e : f.journal) batch_.push_back(std::move(e));
    for (auto& frame : f.ordered) transaction_.frames.push_back(std::move(frame));
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
  for (const auto& s : std::exchange(fenced_signals_, {})) edges_.signal(s);
  for (const auto& s : std::exchange(fenced_owner_signals_, {})) edges_.tell_owner(s);
  if (batch_.empty() && transaction_.frames.empty() && transaction_.stored.empty()) return;
  dirty_ = true;
  expects_more_ = false; // an order that expects more says so itself, behind this
}

void commit_gate::end_transaction(moment now) {
  now_ = now;
  dirty_ = expects_more_ = false;
  submit_transaction();
}

/// Nothing that was applied so far changes what a turn of this scope is told and is not on disk.
bool commit_gate::is_conversation_on_disk(const scope_path& scope) const {
  if (!refused_batches_.empty()) return false;
  const auto place = place_of(scope);
  const auto is_same = [&](const gated& g) {
    return g.changes_conversations ||
           std::find(g.conversations.begin(), g.conversations.end(), place) != g.conversations.end();
  };
  if (std::any_of(gate_.begin(), gate_.end(), is_same)) return false;
  return std::none_of(batch_.begin(), batch_.end(), [&](const records::entry& e) {
    const auto* changed = conversation_of(e);
    return changed ? *changed == scope : changes_some_conversation(e);
  });
}

/// The rows of this turn among those of the transaction from this place on.
std::shared_ptr<const first_turn> commit_gate::first_turn_in_batch(const operation_id& turn, std::size_t from,
                                                                   bool is_rest_on_disk) const {
  const records::operation_record* row = nullptr;
  const records::message_record* message = nullptr;
  for (auto i = from; i < batch_.size(); ++i) {
    if (const auto* put = std::get_if<records::put_operation>(&batch_[i]); put && put->record->id == turn)
      row = &*put->record;
    if (const auto* put = std::get_if<records::put_message>(&batch_[i]); put && put->record.turn == turn)
      message = &put->record;
  }
  if (!row || !message) return nullptr;
  return std::make_shared<const first_turn>(first_turn{*row, *message, is_rest_on_disk});
}

void commit_gate::submit_transaction() {
  const bool nothing = batch_.empty() && transaction_.frames.empty() && transaction_.stored.empty() &&
                       transaction_.ended.empty() && transaction_.signals.empty() &&
                       transaction_.owner_signals.empty() && transaction_.answers.empty() && transaction_.fence.empty();
  if (nothing) return;
  if (!refused_batches_.empty() && std::any_of(batch_.begin(), batch_.end(), records::needs_what_came_before))
    take_up_refused();
  for (const auto& e : batch_) {
    if (const auto* event = std::get_if<records::put_event>(&e)) transaction_.events.push_back(event->record);
    transaction_.creates = transaction_.creates || is_create(e);
    if (const auto* changed = conversation_of(e)) {
      const auto place = place_of(*changed);
      auto& known = transaction_.conversations;
      if (known.empty() || known.back() != place) known.push_back(place); // a sweep ends many of one scope
    }
    transaction_.changes_conversations = transaction_.changes_conversations || changes_some_conversation(e);
  }
  if (!batch_.empty()) {
    // Every transaction uses numbers that an earlier one reserves; until that reservation is on disk each one repeats
    // it.
    const auto limit = reservation(batch_);
    if (limit) reserving_ = std::max(reserving_.value_or(0), *limit);
    if (reserving_ && limit < reserving_) batch_.emplace_back(records::reserve_seq{*reserving_});
    transaction_.reserves = reserving_;
    if (!refused_batches_.empty()) refused_batches_.overtaken_by(row_keys(batch_));
    if (transaction_.creates) transaction_.keys = row_keys(batch_);
    if (!transaction_.creates || transaction_.took_up) transaction_.retry = batch_;
    submitted_ = edges_.submit(std::exchange(batch_, {}));
  }
  transaction_.ticket = submitted_;
  if (transaction_.ticket <= committed_ && gate_.empty()) {
    auto g = std::exchange(transaction_, {});
    release(g, now_);
    return;
  }
  gate_.push_back(std::exchange(transaction_, {}));
}

/// While the disk writes a cancel that comes alone, its first few operations are stopped: their signals leave with the
/// fence, before its answer, and their rows follow in the next transaction.
void commit_gate::end_transaction_of_stop(moment now) {
  const bool others_are_stopped = std::exchange(sweeping_, true);
  end_transaction(now);
  if (others_are_stopped || gate_.size() != 1 || gate_.front().fence.empty()) return;
  sweeping_ = ledger_->step_briefly(now);
  absorb(now);
  dirty_ = false; // the end of the commit ends this transaction, too
  auto& fence = gate_.front();
  for (auto& s : std::exchange(transaction_.signals, {})) fence.signals.push_back(std::move(s));
  for (auto& s : std::exchange(transaction_.owner_signals, {})) fence.owner_signals.push_back(std::move(s));
}

void commit_gate::committed(const records::commit_notice& notice, moment now) {
  now_ = now;
  requested_by_ = "the end of a commit";
  committed_ = std::max(committed_, notice.ticket);
  committed_since_timers_ = true;
  if (notice.failure) edges_.refusal_known(notice.ticket);
  for (auto& g : gate_)
    if (notice.failure && g.ticket == notice.ticket) g.failure = notice.failure;
  while (!gate_.empty() && gate_.front().ticket <= committed_) {
    auto g = std::move(gate_.front());
    gate_.pop_front();
    release(g, now);
  }
  absorb(now);
  end_transaction(now);
}

void commit_gate::release(gated& g, moment now) {
  const bool durable = !g.failure;
  if (durable && g.reserves && g.reserves == reserving_) reserving_.reset();
  for (const auto& frame : g.frames) {
    // Only stops leave while something that they rest on is not on disk: not an assignment or a lease whose write
    // failed, and nothing else for a worker whose own row waits for its retry.
    const bool is_stop = std::holds_alternative<wire::stop>(frame.frame.body);
    if (!is_stop && (!durable || awaits_retry_of_worker(frame.route))) {
      fleet_->frame_withheld(frame.route, now);
      continue;
    }
    if (const auto* start = std::get_if<wire::start>(&frame.frame.body)) {
      if (awaits_retry(start->operation)) { // a refused write holds its assignment
        fleet_->frame_withheld(frame.route, now);
        continue;
      }
      const auto live = ledger_->view(start->operation, now);
      if (!live || live->hot.self_status) { // declared dead while it waited here, or since it left
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
  // After the frames: the callers of a stop wait for the frames.
  for (const auto& id : g.fence) ledger_->cancel_fenced(id, durable, now);
  for (const auto& s : g.signals) edges_.signal(s);
  for (auto& s : g.owner_signals) {
    const auto late = now.wall - s.since; // negative: the wall clock was set back
    if (late >= perhaps_late || late < milliseconds{0}) give_its_grace(s, *ledger_, now);
    edges_.tell_owner(s);
  }
  for (auto& answer : g.answers) answer(durable);
  if (durable)
    for (const auto& event : g.events) edges_.publish(event);
  if (durable) {
    for (const auto& [worker, id] : g.stored)
      if (!is_acknowledged_later(worker, id)) fleet_->result_stored(worker, id, now);
    for (const auto& e : g.ended) {
      edges_.output_closes(e.id);
      conversations_.ended(e.id);
      edges_.ended(e);
    }
  } else if (g.creates || !may_be_tried_again(*g.failure)) {
    edges_.fail_stop(*g.failure);
  } else {
    defer_batch(g);
  }
  absorb(now);
}

std::optional<boot_time> commit_gate::tick(moment now) {
  now_ = now;
  requested_by_ = "a tick";
  note_stall(now);
  if (!edges_.storage_low() && !refused_batches_.empty()) retry_refused(now);
  edges_.ticked(now);
  const auto fleet_next = fleet_->tick(now);
  auto next = end_burst(now);
  if (fleet_next && (!next || *fleet_next < *next)) next = fleet_next;
  // If the gate is full, the next commit continues the sweep.
  if (dirty()) next = now.boot;
  return next;
}

/// Before anything is judged by the clock: after a stall the first message can be another one than the tick.
void commit_gate::note_stall(moment now) {
  if (last_run_ && now.boot - *last_run_ > stalled_after) ledger_->externals()->was_stalled(now);
  last_run_ = now.boot;
}

/// Handles a slice of what is due. Returns the next deadline that is not due yet, if that is known: `dirty` says when
/// the next slice may come.
std::optional<boot_time> commit_gate::run_timers(moment now) {
  timers_due_ = true;
  if (!may_run_timers()) return std::nullopt;
  committed_since_timers_ = false;
  // A start can have brought a deadline that is nearer than the next tick.
  const auto next = ledger_->tick(now);
  timers_due_ = next && *next <= now.boot;
  return timers_due_ ? std::nullopt : next;
}

std::optional<boot_time> commit_gate::end_burst(moment now) {
  now_ = now;
  note_stall(now);
  const auto next = run_timers(now);
  // One slice of a sweep at a time, and only after the journal has written the earlier ones: a new cancel waits for at
  // most one slice.
  if (may_sweep()) sweeping_ = ledger_->step(now);
  placing_ = true;
  absorb(now);
  end_transaction(now);
  return next;
}

} // namespace quell::controller
