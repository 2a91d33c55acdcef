// Views of live work and open cancels. Every status is derived when it is read, so nobody sees work as running that a
// cancel has already reached.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

std::optional<live_view> live_ledger::view(const operation_id& id, moment now) const {
  const index x = find(id);
  if (x == none) return std::nullopt;
  const operation_node& n = operations_[x];
  live_view v;
  v.id = id;
  v.hot = hot_of(x);
  if (!v.hot.stop) {
    if (const auto stop = stop_of(x)) {
      v.hot.now = status::cancelling;
      v.hot.stop.emplace();
      v.hot.stop->cause = stop->cause;
      v.hot.stop->seq = stop->seq;
      v.hot.stop->cancel = stop->cancel;
    }
  } else {
    v.hot.now = status::cancelling;
    v.hot.stop->how.reset(); // appears with the terminal status
    v.hot.stop->evidence.reset();
  }
  if ((v.hot.now == status::pending || v.hot.now == status::paused) && n.waiting != none) {
    const auto& [what, detail] = operations_.reason_of(x);
    v.waiting = waiting_for{what, n.since, detail};
  }
  if (v.hot.now == status::pending && n.worker != none && n.phase != phase::in_doubt)
    v.waiting = waiting_for{"start", n.since, "its start is on the way to worker " + workers_[n.worker]};
  if (n.external && n.external->lease.count() > 0 && !n.is_over())
    v.lease_expires_at = now.wall + std::chrono::floor<milliseconds>(leases_.end_of(x) - now.boot);
  if (n.is_held() && ask_) {
    const reachability r = ask_(workers_[n.worker]);
    if (!r.reachable) {
      v.unreachable_since = r.since.value_or(now.wall);
      v.dead_by = shown_dead_by(x, r, now);
    }
  }
  return v;
}

std::uint64_t live_ledger::stopping_in(index scope, std::size_t& looks) const {
  const std::uint64_t counted = scopes_[scope].stopping;
  if (sweeps_.empty() || scopes_[scope].live > looks) return counted;
  looks -= scopes_[scope].live;
  std::uint64_t derived = 0;
  operations_.each_in_scope(scope, [&](index x) {
    if (!operations_[x].is_stopped() && stop_of(x)) ++derived;
  });
  return counted + derived;
}

template <class Scopes>
void live_ledger::list_scopes(const Scopes& all, const std::optional<scope_path>& prefix, const scope_path* after,
                              std::size_t limit, std::vector<scope_view>& found) const {
  std::size_t looks = most_looks;
  const auto add = [&](index scope) {
    if (scopes_[scope].live > 0 || scopes_[scope].cutoff > 0) found.push_back(view_of_scope(scope, looks));
  };
  if (prefix && (after == nullptr || after->text() < prefix->text()))
    if (const auto own = all.find(prefix->text()); own != all.end()) add(own->second);
  const std::string below = prefix ? prefix->text() + "/" : std::string();
  auto at = after != nullptr && after->text() >= below ? all.upper_bound(after->text()) : all.lower_bound(below);
  for (; at != all.end() && found.size() < limit && std::string_view(at->first).starts_with(below); ++at)
    add(at->second);
}

std::vector<scope_view> live_ledger::scopes(const std::optional<scope_path>& prefix, listed_scopes which,
                                            const scope_path* after, std::size_t limit) const {
  std::vector<scope_view> found;
  if (which == listed_scopes::live)
    list_scopes(scopes_.live_by_text(), prefix, after, limit, found);
  else
    list_scopes(scopes_.by_text(), prefix, after, limit, found);
  return found;
}

scope_view live_ledger::view_of_scope(index scope, std::size_t& looks) const {
  const scope_node& node = scopes_[scope];
  scope_view v;
  v.scope = node.path;
  v.live = node.live;
  v.cancelling = stopping_in(scope, looks);
  v.cutoff_seq = node.cutoff;
  if (node.cutoff > 0) v.last_cancel = node.cutoff_cancel;
  return v;
}

std::optional<cancel_view> live_ledger::view_cancel(const cancel_id& id, moment now) const {
  if (const cancel_run* open = runs_.find(id)) return view_of(*open, now);
  const records::cancel_record* settled = runs_.settled(id);
  if (settled == nullptr) return std::nullopt;
  cancel_view v;
  v.record = *settled;
  const auto count = [&](receipt r) { return settled->report.receipts[static_cast<std::size_t>(r)]; };
  v.proven =
      settled->status == cancel_status::settled && count(receipt::unconfirmed) == 0 && count(receipt::declared) == 0;
  return v;
}

std::vector<cancel_view> live_ledger::open_cancels(moment now) const {
  std::vector<cancel_view> all;
  for (const auto& [seq, run] : runs_) all.push_back(view_of(run, now));
  return all;
}

open_cancel_summary live_ledger::summary_of_open_cancels() const {
  if (runs_.empty()) return {};
  return {runs_.size(), runs_.begin()->second.record.created_at};
}

std::map<std::string, std::uint64_t> live_ledger::live_by_status() const {
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t i = 0; i < count_of<status>(); ++i) {
    if (is_terminal(static_cast<status>(i))) continue;
    auto& count = counts[std::string(name_of(static_cast<status>(i)))];
    for (std::size_t k = 0; k < count_of<quell::kind>(); ++k)
      count += operations_.count(static_cast<quell::kind>(k), static_cast<status>(i));
  }
  return counts;
}

std::map<std::pair<std::string, std::string>, std::uint64_t> live_ledger::live_by_kind() const {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (std::size_t k = 0; k < count_of<quell::kind>(); ++k)
    for (std::size_t i = 0; i < count_of<status>(); ++i)
      if (!is_terminal(static_cast<status>(i)))
        counts[{std::string(name_of(static_cast<quell::kind>(k))), std::string(name_of(static_cast<status>(i)))}] =
            operations_.count(static_cast<quell::kind>(k), static_cast<status>(i));
  return counts;
}

std::uint32_t live_ledger::slots_on(const std::string& worker) const {
  const index w = known_worker(worker);
  return operations_.slots_on(w);
}

std::uint64_t live_ledger::live_on(const std::string& worker) const {
  const index w = known_worker(worker);
  return operations_.live_on(w);
}

} // namespace quell::controller::live
