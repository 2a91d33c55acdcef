// Queries of the rows for code outside this class.
#include <algorithm>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

const records::operation_record* oracle::record_of(const operation_id& id) const {
  const row* r = find(id);
  return r ? &r->record : nullptr;
}

const records::cancel_record* oracle::cancel_of(const cancel_id& id) const {
  const auto at = cancel_by_id_.find(id);
  return at == cancel_by_id_.end() ? nullptr : &cancels_[at->second].record;
}

std::optional<instant> oracle::closed_since(const operation_id& id) const {
  std::optional<instant> first;
  const row* r = find(id);
  if (!r) return first;
  for (const auto& c : cancels_)
    if (covers(c, *r)) first = std::min(first.value_or(c.accepted_at), c.accepted_at);
  return first;
}

void oracle::each_live_in(const scope_path& scope,
                          const std::function<void(const records::operation_record&)>& what) const {
  for (const auto& r : rows_)
    if (!is_terminal_row(r) && below(r.record.scope, scope)) what(r.record);
}

bool oracle::had_live_of(const std::string& owner, const scope_path& scope, instant since) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const row& r) {
    return r.record.owner.id == owner && below(r.record.scope, scope) && (!is_terminal_row(r) || r.over_at >= since);
  });
}

std::optional<operation_id> oracle::living_below(const cancel_id& id) const {
  const auto at = cancel_by_id_.find(id);
  if (at == cancel_by_id_.end()) return std::nullopt;
  for (const auto& r : rows_)
    if (r.living > 0 && !r.was_declared && world_.workers[r.worker]->host().could_run(r.record.id) &&
        covers(cancels_[at->second], r))
      return r.record.id;
  return std::nullopt;
}

} // namespace quell::simulation
