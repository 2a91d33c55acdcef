// Determines the stop of an operation, without changing anything: it follows from the operation's chain, which is the
// operation and its ancestors up to a detached edge. The first stop (the lowest seq) counts.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

bool live_ledger::parent_end_stops(index parent, index child) const {
  const operation_node& p = operations_[parent];
  if (!p.is_over() || !p.details || p.details->children_stop_seq == 0) return false;
  return p.self_status != status::completed || operations_[child].on_parent_end == on_parent_end::cancel;
}

std::optional<found_stop> live_ledger::stop_of(index x) const {
  std::optional<found_stop> first;
  const auto consider = [&](std::uint64_t seq, stop_cause cause, const std::optional<cancel_id>& cancel) {
    if (!first || seq < first->seq) first = found_stop{seq, cause, cancel};
  };
  for (index at = x;;) {
    const operation_node& n = operations_[at];
    if (n.details) {
      if (n.details->stop) {
        // For the operations below, the timeout or superseding of an ancestor is their parent's end.
        const auto& s = *n.details->stop;
        consider(s.seq, at == x || s.cause == stop_cause::cancel ? s.cause : stop_cause::parent_ended, s.cancel);
        break; // it is also the first of everything above it
      }
      for (const cancel_run* run : n.details->targets) consider(run->record.seq, stop_cause::cancel, run->record.id);
    }
    if (runs_.has_scope_cancels())
      for (index scope = n.scope; scope != none; scope = scopes_[scope].parent)
        for (const cancel_run* run : scopes_[scope].cancels)
          if (n.as_of <= run->record.cutoff && n.seq < run->record.seq)
            consider(run->record.seq, stop_cause::cancel, run->record.id);
    runs_.each_broad_of(at,
                        [&](const cancel_run& run) { consider(run.record.seq, stop_cause::cancel, run.record.id); });
    const index parent = operation_parent(at);
    if (parent == none) break;
    if (parent_end_stops(parent, at))
      consider(operations_[parent].details->children_stop_seq, stop_cause::parent_ended, std::nullopt);
    at = parent;
  }
  return first;
}

bool live_ledger::sees(const caller& by, index x) const {
  const operation_node& n = operations_[x];
  if (by.prefix && !scopes_[n.scope].path.is_at_or_below(*by.prefix)) return false;
  if (!by.task || n.id == *by.task) return true;
  const index own = find(*by.task);
  return own != none && operations_.is_below(x, own);
}

bool live_ledger::visible(const operation_id& id, const caller& by) const {
  const index x = find(id);
  return x != none && sees(by, x);
}

} // namespace quell::controller::live
