// A cancel: the caller's rights, its target, whether it joins an open cancel, and its acceptance: one row, one cutoff,
// one stop per worker concerned.
#include <algorithm>
#include <chrono>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/quotas.hpp"
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

outcome<cancel_view> live_ledger::cancel(const cancel_order& order, cancel_id fresh, moment now) {
  if (order.id && !order.is_dry_run()) {
    if (const auto* known = runs_.record_of(*order.id)) {
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
    const bool is_hidden = order.is_dry_run() && !order.must_exist() && x != none && !sees(order.by_token, x);
    if (x == none || is_hidden) return cancel_absent(order, std::move(r), id, now);
    if (!sees(order.by_token, x))
      return refused_with(error_code::operation_not_found, "there is no operation " + id.text());
    if (order.by_token.task && id == *order.by_token.task)
      return refused_with(error_code::forbidden,
                          "a task's token cancels what lies below its own operation, not the operation itself");
  }
  cancel_run run = runs_.draft(order.received, std::move(r));
  const std::uint64_t covered = runs_.count_covered(run, next_seq_);
  if (order.is_dry_run()) {
    cancel_view view = dry_view(run);
    runs_.drop(run);
    return view;
  }
  if (cancel_run* open = runs_.joinable(run, covered)) {
    runs_.drop(run);
    if (order.grace) tighten(*open, *order.grace, now);
    cancel_view view = view_of(*open, now);
    view.record.outcome = cancel_outcome::joined;
    return view;
  }
  if (covered == 0 && run.is_scope() && scopes_[run.scope].cutoff == 0 && has_used_up_cutoffs(order.by_token)) {
    runs_.drop(run);
    return refused_with(error_code::too_many_operations,
                        "this token has cancelled " + std::to_string(most_cutoffs_per_token) +
                            " scopes, which is the limit of those that are remembered for it, and nothing runs in this "
                            "one; they are forgotten after " +
                            std::to_string(std::chrono::floor<std::chrono::hours>(settings_.tombstone_keep).count()) +
                            " h",
                        "/scope");
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
    if (by.task || (is_hidden && (order.must_exist() || !order.is_dry_run()))) return unknown();
    r.outcome = is_hidden ? cancel_outcome::unknown_id : cancel_outcome::already_finished;
  } else {
    if (order.must_exist() || by.task) return unknown();
    r.outcome = cancel_outcome::unknown_id;
    const auto* grave = tombstones_.find(id);
    const auto* first = grave == nullptr ? nullptr : runs_.record_of(grave->cancel);
    const bool is_wide_enough =
        grave != nullptr && (!grave->within || (by.prefix && by.prefix->is_at_or_below(*grave->within)));
    // A caller who sees only a part of the tombstone's scope must not learn its author or reason.
    const bool is_seen = is_wide_enough && (!by.prefix || grave->within == by.prefix);
    if (!order.is_dry_run() && is_seen && first != nullptr) return *view_cancel(grave->cancel, now);
    leaves_tombstone = !is_wide_enough || is_seen; // visible, but its cancel is no longer kept
    if (!order.is_dry_run() && grave == nullptr && tombstones_.is_full(by.token_id))
      return refused_with(error_code::too_many_operations,
                          "this token has cancelled " + std::to_string(tombstones_.left_by(by.token_id)) +
                              " unknown operations, which is the limit; their tombstones expire");
  }
  run.record = std::move(r);
  if (order.is_dry_run()) return dry_view(std::move(run));
  cancel_run& accepted = accept(std::move(run), 0, now);
  if (leaves_tombstone)
    put_tombstone({id, accepted.record.id, now.wall + settings_.tombstone_keep, by.token_id, by.prefix}, now);
  return view_of(accepted, now);
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
  runs_.touch(run); // the answer promises it: the next life of this process sends it to workers that come back
  send_stops(run, runs_.workers_below(run, next_seq_), grace);
  hurry_owners(run, grace, now);
}

cancel_run& live_ledger::accept(cancel_run draft, std::uint64_t covered, moment now) {
  draft.record.seq = take_seq();
  if (!draft.record.up_to_seq || *draft.record.up_to_seq > draft.record.seq) draft.record.cutoff = draft.record.seq;
  draft.record.report.operations = covered;
  draft.record.status = covered > 0 ? cancel_status::fenced : cancel_status::settled;
  draft.last_progress = now.boot;
  cancel_run& run = runs_.open(std::move(draft), covered);
  raise_cutoff(run, now);
  if (covered > 0) {
    run.awaited = runs_.workers_below(run, next_seq_);
    for (const index w : run.awaited) run.record.report.workers.push_back(workers_[w]);
    send_stops(run, run.awaited, run.record.grace);
    hurry_owners(run, run.record.grace, now);
    queue_sweep(run);
  }
  records::put_cancel row{run.record};
  // It becomes settled on disk with its times and events, which are written with the fence.
  row.record.status = cancel_status::fenced;
  effects_.journal.emplace_back(std::move(row));
  runs_.note_change(run);
  return run;
}

void live_ledger::raise_cutoff(const cancel_run& run, moment now) {
  if (!run.is_scope() || run.record.cutoff <= scopes_[run.scope].cutoff) return;
  const auto& by = run.record.via_token_id;
  keep_cutoff(run.scope, run.record.cutoff, run.record.id, by, now);
  effects_.journal.emplace_back(records::put_cutoff{{scopes_[run.scope].path, run.record.cutoff, run.record.id}});
}

/// A scope has one expiry at a time, however often it is cancelled.
void live_ledger::keep_cutoff(index scope, std::uint64_t cutoff, const cancel_id& cancel, const std::string& by_token,
                              moment now) {
  scope_node& node = scopes_[scope];
  const index token = has_share(by_token) ? cutoff_tokens_.hold(by_token) : none;
  if (node.cutoff_token != none) cutoff_tokens_.release(node.cutoff_token);
  const bool is_first = node.cutoff == 0;
  node.cutoff = cutoff;
  node.cutoff_cancel = cancel;
  node.cutoff_token = token;
  node.cutoff_until = now.boot + settings_.tombstone_keep;
  if (is_first) expiries_.push({node.cutoff_until, {}, scope, node.generation});
}

/// Cancels of scopes in which work lives are never refused, and count.
bool live_ledger::has_used_up_cutoffs(const caller& by) const {
  const index token = has_share(by.token_id) ? cutoff_tokens_.find(by.token_id) : none;
  return token != none && cutoff_tokens_.holders(token) >= most_cutoffs_per_token;
}

void live_ledger::put_tombstone(const records::tombstone_record& t, moment now) {
  tombstones_.put(t);
  expiries_.push({now.boot + std::max(t.expires_at - now.wall, milliseconds{0}), t.id, none, 0});
  effects_.journal.emplace_back(records::put_tombstone{t});
}

} // namespace quell::controller::live
