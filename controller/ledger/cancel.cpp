// A cancel: the caller's rights, its target, whether it joins an open cancel, and its acceptance: one row, one cutoff,
// one stop per worker concerned.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::live {

namespace {

/// The caller's rights applied to a scope in the order: nullopt = it lies outside of them.
std::optional<std::optional<scope_path>> narrowed(const std::optional<scope_path>& named, const caller& by) {
  if (!by.prefix) return std::optional<std::optional<scope_path>>(named);
  if (!named) return std::optional<std::optional<scope_path>>(by.prefix);
  if (!named->is_at_or_below(*by.prefix)) return std::nullopt;
  return std::optional<std::optional<scope_path>>(named);
}

} // namespace

outcome<records::cancel_target> live_ledger::resolve_target(const cancel_order& order) const {
  records::cancel_target target = order.target;
  if (std::holds_alternative<records::target_operation>(target)) return target;
  if (order.by_token.task)
    return refused_with(error_code::forbidden,
                        "a task's token cancels single operations below its own; name one by its id");
  const auto outside = [&](const scope_path& scope) {
    return refused_with(error_code::scope_forbidden,
                        "scope " + scope.text() + " lies outside " + order.by_token.prefix->text() +
                            ", which this token is for",
                        "/scope");
  };
  if (auto* s = std::get_if<records::target_scope>(&target)) {
    if (!narrowed(s->scope, order.by_token)) return outside(s->scope);
  } else if (auto* o = std::get_if<records::target_owner>(&target)) {
    auto below = narrowed(o->below, order.by_token);
    if (!below) return outside(*o->below);
    o->below = *below;
  } else if (auto* e = std::get_if<records::target_everything>(&target)) {
    auto below = narrowed(e->below, order.by_token);
    if (!below) return outside(*e->below);
    e->below = *below;
  }
  return target;
}

cancel_run live_ledger::draft(const cancel_order& order, records::cancel_record r) {
  cancel_run run;
  run.received = order.received;
  if (const auto* o = std::get_if<records::target_operation>(&r.target)) {
    run.operation = find(o->id);
    if (run.operation != none) {
      run.operation_seq = operations_[run.operation].seq;
      run.event_scope = scopes_[operations_[run.operation].scope].path;
      index root = run.operation;
      while (operation_parent(root) != none) root = operation_parent(root);
      run.event_root = operations_[root].id;
      if (operations_[run.operation].as_of > r.cutoff) run.operation = none; // not live yet at up_to_seq
    }
  } else {
    const auto within = [&](const std::optional<scope_path>& below) {
      return below ? scopes_.find_or_make(*below) : scope_tree::root;
    };
    if (const auto* s = std::get_if<records::target_scope>(&r.target)) run.scope = within(s->scope);
    if (const auto* w = std::get_if<records::target_owner>(&r.target)) {
      run.scope = within(w->below);
      run.owner = owners_.hold(w->owner);
    }
    if (const auto* e = std::get_if<records::target_everything>(&r.target)) run.scope = within(e->below);
    ++scopes_[run.scope].holders;
    if (run.scope != scope_tree::root) run.event_scope = scopes_[run.scope].path;
  }
  run.record = std::move(r);
  return run;
}

outcome<cancel_view> live_ledger::cancel(const cancel_order& order, cancel_id fresh, moment now) {
  if (order.id && !order.dry_run) {
    const auto open = run_of_.find(*order.id);
    const auto* known = open != run_of_.end() ? &runs_.at(open->second).record : settled_.find(*order.id);
    if (known != nullptr) {
      if (known->fingerprint != order.fingerprint)
        return refused_with(error_code::id_conflict,
                            "cancel " + order.id->text() + " exists already with another body; choose a fresh id",
                            "/id");
      return *view_cancel(known->id, now);
    }
  }
  auto target = resolve_target(order);
  if (!target) return tl::unexpected<refusal>(std::move(target.error()));

  records::cancel_record r;
  r.id = order.id.value_or(fresh);
  r.seq = next_seq_; // taken only when the cancel is accepted
  r.target = std::move(*target);
  r.cutoff = std::min(order.up_to_seq.value_or(r.seq), r.seq);
  r.reason = order.reason;
  r.by = order.by.value_or(order.by_token.owner);
  r.via_channel = order.via_channel;
  r.via_token = order.by_token.token_name;
  r.via_token_id = order.by_token.token_id;
  r.grace = order.grace;
  r.up_to_seq = order.up_to_seq;
  r.created_at = now.wall;
  r.fingerprint = order.fingerprint;

  if (const auto* o = std::get_if<records::target_operation>(&r.target)) {
    const operation_id id = o->id;
    const index x = find(id);
    // A dry run must not distinguish other callers' operations from unknown ids.
    const bool is_hidden = order.dry_run && !order.must_exist && x != none && !sees(order.by_token, x);
    if (x == none || is_hidden) return cancel_absent(order, std::move(r), id, now);
    if (!sees(order.by_token, x))
      return refused_with(error_code::operation_not_found, "there is no operation " + id.text());
    if (order.by_token.task && id == *order.by_token.task)
      return refused_with(error_code::forbidden,
                          "a task's token cancels what lies below its own operation, not the operation itself");
  }
  cancel_run run = draft(order, std::move(r));
  const auto let_go = [this](const cancel_run& unused) {
    if (unused.owner != none) owners_.release(unused.owner);
    if (unused.scope == none) return;
    --scopes_[unused.scope].holders;
    scopes_.release_unused(unused.scope);
  };
  const std::uint64_t covered = count_covered(run);
  if (order.dry_run) {
    cancel_view view = dry_view(run);
    let_go(run);
    return view;
  }
  if (cancel_run* open = joinable(run, covered)) {
    let_go(run);
    if (order.grace) tighten(*open, *order.grace, now);
    cancel_view view = view_of(*open, now);
    view.record.outcome = cancel_outcome::joined;
    return view;
  }
  run.record.outcome = covered > 0 ? cancel_outcome::stopping : cancel_outcome::nothing_live;
  return view_of(accept(std::move(run), covered, now), now);
}

outcome<cancel_view> live_ledger::cancel_absent(const cancel_order& order, records::cancel_record r,
                                                const operation_id& id, moment now) {
  const auto unknown = [&] {
    return refused_with(error_code::operation_not_found, "there is no operation " + id.text());
  };
  const caller& by = order.by_token;
  bool leaves_tombstone = false;
  cancel_run run;
  run.received = order.received;
  if (order.has_ended) {
    r.outcome = cancel_outcome::already_finished; // the caller has checked, including the rights
  } else if (const ended_trace* trace = recent_.find(id)) {
    // The ledger no longer knows whether an ended operation lay below the task; the store does.
    const auto scope = scope_path::parse(recent_.scope(*trace));
    const bool is_hidden = by.prefix && scope && !scope->is_at_or_below(*by.prefix);
    if (by.task || (is_hidden && (order.must_exist || !order.dry_run))) return unknown();
    r.outcome = is_hidden ? cancel_outcome::unknown_id : cancel_outcome::already_finished;
  } else {
    if (order.must_exist || by.task) return unknown();
    r.outcome = cancel_outcome::unknown_id;
    const auto grave = tombstones_.find(id);
    const auto* first = grave == tombstones_.end() ? nullptr : settled_.find(grave->second.cancel);
    const auto open = grave == tombstones_.end() ? run_of_.end() : run_of_.find(grave->second.cancel);
    const bool is_wide_enough =
        grave != tombstones_.end() &&
        (!grave->second.within || (by.prefix && by.prefix->is_at_or_below(*grave->second.within)));
    // A caller who sees only a part of the tombstone's scope must not learn its author or reason.
    const bool is_seen = is_wide_enough && (!by.prefix || grave->second.within == by.prefix);
    if (!order.dry_run && is_seen && (first != nullptr || open != run_of_.end()))
      return *view_cancel(grave->second.cancel, now);
    leaves_tombstone = !is_wide_enough || is_seen; // visible, but its cancel is no longer kept
    const auto used = tombstones_of_.find(by.token_id);
    if (!order.dry_run && grave == tombstones_.end() && used != tombstones_of_.end() &&
        used->second >= settings_.max_tombstones_per_token)
      return refused_with(error_code::too_many_operations,
                          "this token has cancelled " + std::to_string(used->second) +
                              " unknown operations, which is the limit; their tombstones expire");
  }
  run.record = std::move(r);
  if (order.dry_run) return dry_view(std::move(run));
  cancel_run& accepted = accept(std::move(run), 0, now);
  if (leaves_tombstone)
    put_tombstone({id, accepted.record.id, now.wall + settings_.tombstone_keep, by.token_id, by.prefix}, now);
  return view_of(accepted, now);
}

cancel_run* live_ledger::joinable(const cancel_run& fresh, std::uint64_t covered) {
  if (covered == 0)
    return nullptr; // nothing is being stopped there: only the cutoff counts, and it must be the new one
  cancel_run* newest = nullptr;
  const auto consider = [&](cancel_run* run) {
    if (run->record.target == fresh.record.target && (newest == nullptr || run->record.cutoff > newest->record.cutoff))
      newest = run;
  };
  if (fresh.operation != none) {
    const auto& more = operations_[fresh.operation].details;
    if (more)
      for (cancel_run* run : more->targets) consider(run);
  } else if (fresh.is_scope()) {
    for (cancel_run* run : scopes_[fresh.scope].cancels) consider(run);
  } else {
    for (cancel_run* run : broad_) consider(run);
  }
  if (newest == nullptr || newest->remaining == 0) return nullptr;
  const bool covers_all = newest->record.cutoff >= fresh.record.cutoff || newest->remaining == covered;
  return covers_all ? newest : nullptr;
}

void live_ledger::tighten(cancel_run& run, milliseconds grace, moment now) {
  const auto in_force = run.record.tighter ? run.record.tighter : run.record.grace;
  if (in_force && *in_force <= grace) return;
  // With "each its own", some operations can have a shorter grace than the new one: only an immediate kill is certainly
  // nearer for all.
  if (run.record.grace || grace.count() == 0) {
    run.record.grace = grace;
    run.record.tighter.reset();
  } else {
    run.record.tighter = grace;
  }
  touch(run); // the answer promises it: the next life of this process sends it to workers that come back
  send_stops(run, workers_below(run), grace);
  hurry_owners(run, grace, now);
}

cancel_run& live_ledger::accept(cancel_run draft, std::uint64_t covered, moment now) {
  draft.record.seq = take_seq();
  if (!draft.record.up_to_seq || *draft.record.up_to_seq > draft.record.seq) draft.record.cutoff = draft.record.seq;
  draft.record.report.operations = covered;
  draft.record.status = covered > 0 ? cancel_status::fenced : cancel_status::settled;
  draft.remaining = covered;
  draft.last_progress = now.boot;
  const std::uint64_t seq = draft.record.seq;
  cancel_run& run = runs_.emplace(seq, std::move(draft)).first->second;
  run_of_.emplace(run.record.id, seq);
  enter(run);
  raise_cutoff(run, now);
  if (covered > 0) {
    run.awaited = workers_below(run);
    for (const index w : run.awaited) run.record.report.workers.push_back(workers_[w]);
    send_stops(run, run.awaited, run.record.grace);
    hurry_owners(run, run.record.grace, now);
    queue_sweep(run);
  }
  records::put_cancel row{run.record};
  // It becomes settled on disk with its times and events, which are written with the fence.
  row.record.status = cancel_status::fenced;
  effects_.journal.emplace_back(std::move(row));
  changed_.insert(run.record.id);
  return run;
}

void live_ledger::raise_cutoff(const cancel_run& run, moment now) {
  if (!run.is_scope() || run.record.cutoff <= scopes_[run.scope].cutoff) return;
  scope_node& node = scopes_[run.scope];
  node.cutoff = run.record.cutoff;
  node.cutoff_cancel = run.record.id;
  effects_.journal.emplace_back(records::put_cutoff{{node.path, node.cutoff, run.record.id}});
  expiries_.push({now.boot + settings_.tombstone_keep, {}, run.scope, node.generation, node.cutoff});
}

void live_ledger::enter(cancel_run& run) {
  if (run.operation != none) {
    details(run.operation).targets.push_back(&run);
  } else if (run.is_scope()) {
    scopes_[run.scope].cancels.push_back(&run);
    ++scope_cancels_;
  } else if (run.is_broad()) {
    broad_.push_back(&run);
  }
}

void live_ledger::leave(cancel_run& run) {
  if (run.operation != none) std::erase(details(run.operation).targets, &run);
  if (run.is_scope()) {
    std::erase(scopes_[run.scope].cancels, &run);
    --scope_cancels_;
  }
  if (run.is_broad()) std::erase(broad_, &run);
  if (run.owner != none) owners_.release(run.owner);
  if (run.scope == none) return;
  --scopes_[run.scope].holders;
  scopes_.release_unused(run.scope);
}

void live_ledger::put_tombstone(const records::tombstone_record& t, moment now) {
  const auto old = tombstones_.find(t.id);
  if (old != tombstones_.end() && --tombstones_of_[old->second.via_token] == 0)
    tombstones_of_.erase(old->second.via_token);
  tombstones_[t.id] = t;
  ++tombstones_of_[t.via_token];
  expiries_.push({now.boot + std::max(t.expires_at - now.wall, milliseconds{0}), t.id, none, 0, 0});
  effects_.journal.emplace_back(records::put_tombstone{t});
}

void live_ledger::drop_tombstone(const operation_id& id) {
  const auto old = tombstones_.find(id);
  if (old == tombstones_.end()) return;
  if (--tombstones_of_[old->second.via_token] == 0) tombstones_of_.erase(old->second.via_token);
  tombstones_.erase(old);
  effects_.journal.emplace_back(records::drop_tombstone{id});
}

} // namespace quell::controller::live
