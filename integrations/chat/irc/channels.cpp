// The channels that we are in, and the rejoining of those that we should be in.
#include <algorithm>

#include "integrations/chat/irc/session.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::irc {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_channels = 1000; ///< including those that others bring us into
constexpr auto settled_after = 60s;         ///< after this long in a channel the back-off starts short again

} // namespace

bool session::is_channel(std::string_view target) const {
  return !target.empty() && channel_letters_.find(target.front()) != std::string::npos;
}

session::channel& session::channel_of(std::string_view name) {
  return channels_
      .try_emplace(fold(name),
                   channel{std::string(name), false, false, backoff(settings_.rejoin, settings_.retry_most)})
      .first->second;
}

void session::join_all(boot_time now) {
  join_at_.reset();
  for (const auto& name : settings_.channels) {
    auto& c = channel_of(name);
    c.is_wanted = true;
    if (!c.is_joined) c.try_at = now;
  }
  join_due(now);
}

void session::join_due(boot_time now) {
  for (auto& [folded_name, c] : channels_) {
    if (!c.try_at || *c.try_at > now || c.is_joined) continue;
    // Sent again if nothing at all comes back.
    c.try_at = now + std::max<milliseconds>(settings_.rejoin, 60s);
    const auto key = std::find_if(settings_.keys.begin(), settings_.keys.end(),
                                  [&, &name = c.name](const auto& k) { return is_same(k.first, name, mapping_); });
    if (key == settings_.keys.end())
      send({"JOIN", c.name});
    else
      send({"JOIN", c.name, key->second});
  }
}

void session::joined(const line& l, boot_time now) {
  if (!is_me(l.nick()) || !is_sendable(l.parameter(0))) return;
  if (channels_.size() >= most_channels && !channels_.contains(fold(l.parameter(0)))) return;
  prefix_ = l.prefix;
  auto& c = channel_of(l.parameter(0));
  c.is_joined = true;
  c.joined_at = now;
  c.try_at.reset();
  c.why_not.clear();
}

void session::left(std::string_view name, std::string why, boot_time now) {
  const auto it = channels_.find(fold(name));
  if (it == channels_.end()) return;
  auto& c = it->second;
  if (!c.is_wanted) {
    channels_.erase(it);
    return;
  }
  if (c.is_joined && now - c.joined_at >= settled_after) c.waits.worked();
  c.is_joined = false;
  c.why_not = std::move(why);
  c.try_at = now + c.waits.step(1); // no jitter: no other client rejoins with us
}

void session::not_joined(const line& l, boot_time now) {
  const auto it = channels_.find(fold(l.parameter(1)));
  if (it == channels_.end() || it->second.is_joined || !it->second.is_wanted) return;
  it->second.why_not = excerpt(l.parameters.back(), 100);
  it->second.try_at = now + it->second.waits.step(1);
}

} // namespace quell::integrations::chat::irc
