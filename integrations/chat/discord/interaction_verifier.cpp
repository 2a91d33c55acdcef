// Checks signature and time, and recognises repeated interactions.
#include "integrations/chat/discord/interaction_verifier.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "integrations/chat/discord/ed25519.hpp"

namespace quell::integrations::chat::discord {
namespace {

constexpr std::chrono::seconds tolerance{300};
constexpr std::size_t most_remembered = 100'000;

std::optional<std::chrono::sys_seconds> instant_of(const std::string& text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || seconds < 0 ||
      seconds > std::int64_t{1} << 40)
    return std::nullopt;
  return std::chrono::sys_seconds{std::chrono::seconds{seconds}};
}

} // namespace

interaction_verifier::interaction_verifier(std::string public_key, std::chrono::sys_seconds opened)
    : public_key_(std::move(public_key)), opened_(opened) {}

std::optional<web_answer> interaction_verifier::refusal(const web_call& call, std::chrono::sys_seconds now) const {
  const auto timestamp = call.header("x-signature-timestamp");
  const auto signature = from_hex(call.header("x-signature-ed25519"));
  if (!signature || timestamp.empty() || !is_ed25519_signed(public_key_, timestamp + call.body, *signature))
    return web_answer{401, "invalid request signature\n"};
  const auto at = instant_of(timestamp);
  if (!at || *at + tolerance < now || now + tolerance < *at)
    return web_answer{401, "the signed time lies too far from ours: a replay, or a wrong clock\n"};
  if (*at <= opened_) return web_answer{401, "signed before this program started; send it again\n"};
  return std::nullopt;
}

bool interaction_verifier::is_first(const std::string& id, std::chrono::sys_seconds now) {
  if (seen_.size() >= most_remembered)
    std::erase_if(seen_, [&](const auto& one) { return one.second + 2 * tolerance < now; });
  // Refuses instead of forgetting: people do not make so many interactions in ten minutes.
  if (seen_.size() >= most_remembered) return false;
  return seen_.emplace(id, now).second;
}

} // namespace quell::integrations::chat::discord
