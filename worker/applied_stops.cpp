// Stores cutoffs and closed operations; drops the oldest first.
#include "worker/applied_stops.hpp"

namespace quell::worker {

void applied_stops::record(const wire::stop& s) {
  for (const auto& operation : s.operations) close(operation, s.seq);
  if (!s.scope) return;
  const auto [place, fresh] = cutoffs_.try_emplace(s.scope->text(), cutoff{s.cutoff, s.seq});
  if (!fresh) {
    if (s.cutoff > place->second.at) place->second = {s.cutoff, s.seq};
    return;
  }
  cutoffs_by_age_.push_back(s.scope->text());
  if (cutoffs_by_age_.size() > limit_) {
    cutoffs_.erase(cutoffs_by_age_.front());
    cutoffs_by_age_.pop_front();
  }
}

void applied_stops::close(const operation_id& operation, std::uint64_t seq) {
  if (!closed_.try_emplace(operation, seq).second) return;
  closed_by_age_.push_back(operation);
  if (closed_by_age_.size() > limit_) {
    closed_.erase(closed_by_age_.front());
    closed_by_age_.pop_front();
  }
}

std::optional<std::uint64_t> applied_stops::covers(const operation_id& operation,
                                                   const std::vector<operation_id>& ancestors, const scope_path& scope,
                                                   std::uint64_t as_of) const {
  if (const auto it = closed_.find(operation); it != closed_.end()) return it->second;
  for (const auto& ancestor : ancestors)
    if (const auto it = closed_.find(ancestor); it != closed_.end()) return it->second;
  const std::string_view text = scope.text();
  for (auto end = text.find('/');; end = text.find('/', end + 1)) {
    const auto it = cutoffs_.find(text.substr(0, end));
    if (it != cutoffs_.end() && as_of <= it->second.at) return it->second.seq;
    if (end == std::string_view::npos) return std::nullopt;
  }
}

} // namespace quell::worker
