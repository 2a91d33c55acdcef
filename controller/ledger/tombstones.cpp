// Tombstones by id, and how many each token has left.
#include "controller/ledger/tombstones.hpp"

namespace quell::controller::live {

const records::tombstone_record* tombstones::find(const operation_id& id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &at->second;
}

std::size_t tombstones::left_by(const std::string& token) const {
  const auto at = left_by_.find(token);
  return at == left_by_.end() ? 0 : at->second;
}

void tombstones::put(const records::tombstone_record& t) {
  const auto old = by_id_.find(t.id);
  if (old != by_id_.end()) uncount(old->second.via_token);
  by_id_[t.id] = t;
  ++left_by_[t.via_token];
}

bool tombstones::drop(const operation_id& id) {
  const auto old = by_id_.find(id);
  if (old == by_id_.end()) return false;
  uncount(old->second.via_token);
  by_id_.erase(old);
  return true;
}

std::optional<wall_time::duration> tombstones::time_left(const operation_id& id, wall_time now) const {
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return std::nullopt;
  return at->second.expires_at - now;
}

void tombstones::uncount(const std::string& token) {
  const auto at = left_by_.find(token);
  if (--at->second == 0) left_by_.erase(at);
}

void tombstones::check(std::vector<std::string>& broken) const {
  std::map<std::string, std::size_t> counted;
  for (const auto& [id, t] : by_id_) {
    if (t.id != id) broken.push_back("tombstone " + t.id.text() + " is kept under the id " + id.text());
    ++counted[t.via_token];
  }
  if (counted != left_by_) broken.push_back("the tombstones of some token are miscounted");
}

} // namespace quell::controller::live
