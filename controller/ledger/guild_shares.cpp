// Counts what guilds hold, and says which of them has room again.
#include "controller/ledger/guild_shares.hpp"

#include <utility>

#include "controller/ledger/quotas.hpp"

namespace quell::controller::live {

std::uint32_t guild_shares::most_of(const std::string& guild) const {
  const auto own = of_some_.find(guild);
  return own == of_some_.end() ? most_of_each_ : own->second;
}

slots_by_guild guild_shares::limit(slots_by_guild of_some) {
  for (auto& [guild, share] : shares_) wake(share);
  return std::exchange(of_some_, std::move(of_some));
}

void guild_shares::wake(share& of) {
  if (of.first == none) return;
  of.first = none;
  ++room_;
}

std::uint16_t guild_shares::enter(const std::string& guild) {
  if (most_of(guild) == 0) return queue_of_guild(guild);
  ++shares_[guild].tasks;
  constexpr index own_lines = 0x10000 - guild_queues; // more guilds than that with live tasks share them
  return static_cast<std::uint16_t>(guild_queues + lines_.hold(guild) % own_lines);
}

void guild_shares::leave(const std::string& guild, index task) {
  const auto at = shares_.find(guild);
  if (at == shares_.end()) return;
  lines_.release(lines_.find(guild));
  give_way(guild, task);
  if (--at->second.tasks == 0) shares_.erase(at);
}

void guild_shares::give_way(const std::string& guild, index task) {
  if (const auto at = shares_.find(guild); at != shares_.end() && at->second.first == task) wake(at->second);
}

void guild_shares::take(const std::string& guild, std::uint32_t slots) {
  if (const auto at = shares_.find(guild); at != shares_.end()) at->second.held += slots;
}

void guild_shares::give_back(const std::string& guild, std::uint32_t slots) {
  const auto at = shares_.find(guild);
  if (at == shares_.end() || slots == 0) return;
  share& of = at->second;
  of.held -= slots;
  if (of.held == 0 || std::uint64_t{of.held} + of.first_needs <= most_of(guild)) wake(of);
}

bool guild_shares::may_take(const std::string& guild, index task, std::uint32_t slots) {
  const auto at = shares_.find(guild);
  if (at == shares_.end() || slots == 0 || at->second.held == 0) return true;
  share& of = at->second;
  if (of.first != none && of.first != task) return false;
  if (std::uint64_t{of.held} + slots <= most_of(guild)) return true;
  of.first = task;
  of.first_needs = slots;
  return false;
}

} // namespace quell::controller::live
