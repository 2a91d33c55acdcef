// Reads the headers and bodies that say when to retry.
#include "integrations/chat/discord/rate_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

namespace quell::integrations::chat::discord {
namespace {

constexpr double longest_seconds = 3600, shortest_seconds = 0.05;

std::string value_of(const rate_limits::headers& all, const char* name) {
  const auto at = all.find(name);
  return at == all.end() ? std::string() : at->second;
}

/// Seconds with a fraction; nullopt for anything else.
std::optional<double> seconds_of(const std::string& text) {
  if (text.empty() || text.size() > 32 || text.find_first_not_of("0123456789.") != std::string::npos)
    return std::nullopt;
  const auto value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

milliseconds whole(double seconds) {
  return milliseconds(static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, longest_seconds) * 1000)));
}

} // namespace

milliseconds rate_limits::wait(const std::string& route, boot_time now) const {
  auto until = all_free_at_;
  if (const auto at = free_at_.find(route); at != free_at_.end()) until = std::max(until, at->second);
  return until <= now ? milliseconds{0} : std::chrono::ceil<milliseconds>(until - now);
}

rate_limits::verdict rate_limits::answered(const std::string& route, long status, const headers& all,
                                           std::string_view body, boot_time now) {
  if (free_at_.size() >= most_routes) std::erase_if(free_at_, [&](const auto& one) { return one.second <= now; });
  if (free_at_.size() >= most_routes) free_at_.clear(); // a 429 restores it
  if (status != 429) {
    const auto reset = seconds_of(value_of(all, "x-ratelimit-reset-after"));
    if (value_of(all, "x-ratelimit-remaining") == "0" && reset) free_at_[route] = now + whole(*reset);
    return {};
  }
  auto seconds = seconds_of(value_of(all, "retry-after"));
  bool is_global = value_of(all, "x-ratelimit-global") == "true" || value_of(all, "x-ratelimit-scope") == "global";
  if (const auto answer_json = nlohmann::json::parse(body, nullptr, false); answer_json.is_object()) {
    // More exact than the header, which has whole seconds.
    if (const auto at = answer_json.find("retry_after"); at != answer_json.end() && at->is_number())
      seconds = at->get<double>();
    if (const auto at = answer_json.find("global"); at != answer_json.end() && at->is_boolean())
      is_global |= at->get<bool>();
  }
  verdict v{whole(std::max(seconds.value_or(1), shortest_seconds)), is_global};
  auto& free_at = is_global ? all_free_at_ : free_at_[route];
  free_at = std::max(free_at, now + v.wait); // of several answers under way the longest counts
  return v;
}

} // namespace quell::integrations::chat::discord
