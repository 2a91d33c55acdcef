// A place is never taken back: a fetch ends by itself, by its time, or by a stop. So the shares leave room beforehand.
#include "actors/chat/fetch_places.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace quell::controller::chat {
namespace {

/// A thread is a part of its channel.
scope_path channel_of(const scope_path& scope) { return scope.first(3); }

} // namespace

fetch_places::fetch_places(std::size_t most) : most_of_channel_(std::max<std::size_t>(most / 4, 1)), free_(most) {}

void fetch_places::enter(const scope_path& scope, std::function<void()> go) {
  std::unique_lock lock(guard_);
  guilds_[scope.guild()].channels[channel_of(scope)].waiting.push_back({++comings_, std::move(go)});
  admit(lock);
}

void fetch_places::leave(const scope_path& scope) {
  std::unique_lock lock(guard_);
  const auto guild = guilds_.find(scope.guild());
  auto& channels = guild->second.channels;
  const auto channel = channels.find(channel_of(scope));
  ++free_;
  --guild->second.taken;
  if (--channel->second.taken == 0 && channel->second.waiting.empty()) channels.erase(channel);
  if (channels.empty()) guilds_.erase(guild);
  admit(lock);
}

std::function<void()> fetch_places::take_next() {
  using rank = std::tuple<std::size_t, std::size_t, std::uint64_t>;
  guild_places* guild = nullptr;
  channel_places* channel = nullptr;
  rank best{};
  for (auto& [guild_name, g] : guilds_) {
    if (g.taken >= free_) continue;
    for (auto& [channel_name, c] : g.channels) {
      if (c.waiting.empty() || c.taken >= most_of_channel_) continue;
      const rank its{g.taken, c.taken, c.waiting.front().number};
      if (channel && best <= its) continue;
      best = its;
      guild = &g;
      channel = &c;
    }
  }
  if (!channel) return {};
  auto go = std::move(channel->waiting.front().go);
  channel->waiting.pop_front();
  ++channel->taken;
  ++guild->taken;
  --free_;
  return go;
}

/// One caller at a time admits, in a loop: who enters and leaves at once does so inside of it.
void fetch_places::admit(std::unique_lock<std::mutex>& lock) {
  if (std::exchange(is_admitting_, true)) return;
  while (auto go = take_next()) {
    lock.unlock();
    go();
    lock.lock();
  }
  is_admitting_ = false;
}

} // namespace quell::controller::chat
