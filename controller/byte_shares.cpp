// Fills shares, all or none, and says which one is full.
#include "controller/byte_shares.hpp"

#include <algorithm>
#include <cmath>

#include "controller/json/instant.hpp"
#include "controller/token_shares.hpp"

namespace quell::controller {

namespace {

constexpr double day = 86'400;

/// Token ids have no line break.
std::string author_key(const byte_source& from) { return from.token + "\n" + from.author; }

std::string words_for(byte_shares::kind what, const std::string& key, const byte_source& from) {
  switch (what) {
  case byte_shares::kind::token:
    return from.token_words + " has brought";
  case byte_shares::kind::author:
    return "author " + from.author + " has brought";
  case byte_shares::kind::scope:
    return "scope " + key + ", with those below it, has received";
  }
  return {};
}

constexpr std::array setting{"bytes_per_day", "bytes_per_day_per_author", "bytes_per_day_per_scope"};

} // namespace

double byte_shares::used(kind what, const share& s, boot_time now) const {
  const auto passed = std::chrono::duration<double>(std::max(now - s.at, std::chrono::nanoseconds{0})).count();
  return std::max(0.0, s.used - passed * limit(what) / day);
}

std::vector<byte_shares::place> byte_shares::places_of(const byte_source& from) const {
  std::vector<place> found;
  if (limit(kind::token) > 0 && !from.token_is_counted && has_share(from.token))
    found.emplace_back(kind::token, from.token);
  if (limit(kind::author) > 0 && !from.author.empty()) found.emplace_back(kind::author, author_key(from));
  if (limit(kind::scope) > 0)
    for (auto at = from.scope; at; at = at->parent()) found.emplace_back(kind::scope, at->text());
  return found;
}

std::optional<bytes_refused> byte_shares::look(const byte_source& from, double bytes, moment now) const {
  std::optional<bytes_refused> refused;
  for (const auto& [what, key] : places_of(from)) {
    const auto& here = all_[static_cast<std::size_t>(what)];
    const auto at = here.find(key);
    const auto most = limit(what);
    const auto over = (at == here.end() ? 0 : used(what, at->second, now.boot)) + std::min(bytes, most) - most;
    if (over <= 0) continue;
    const std::chrono::seconds wait(static_cast<std::int64_t>(std::ceil(over / most * day)));
    if (refused && refused->free_after >= wait) continue; // the longest wait decides
    refused = {words_for(what, key, from) + " what a day has room for (limits." +
                   setting[static_cast<std::size_t>(what)] + ", " + std::to_string(static_cast<std::uint64_t>(most)) +
                   " bytes); there is room for this in " + std::to_string(wait.count()) + " s, at " +
                   http::instant_text(now.wall + wait) + ". Cancels are always taken.",
               wait};
  }
  return refused;
}

std::optional<bytes_refused> byte_shares::take(const byte_source& from, double bytes, moment now) {
  auto refused = look(from, bytes, now);
  if (!refused) add(from, bytes, now);
  return refused;
}

void byte_shares::add(const byte_source& from, double bytes, moment now) {
  for (const auto& where : places_of(from)) fill(where, bytes, now.boot);
}

void byte_shares::give_back(const byte_source& from, double bytes, moment now) {
  for (const auto& [what, key] : places_of(from)) {
    auto& here = all_[static_cast<std::size_t>(what)];
    const auto at = here.find(key);
    if (at == here.end()) continue; // forgotten meanwhile
    at->second = {std::max(0.0, used(what, at->second, now.boot) - bytes), now.boot};
  }
}

void byte_shares::fill(const place& where, double bytes, boot_time now) {
  const auto& [what, key] = where;
  auto& here = all_[static_cast<std::size_t>(what)];
  if (here.size() >= most_of_kind && !here.contains(key)) forget_some(what, now);
  auto& s = here[key];
  s.used = std::min(limit(what), used(what, s, now) + bytes);
  s.at = now;
}

/// Half of them goes, the emptiest: whoever is forgotten has brought less than each of very many others.
void byte_shares::forget_some(kind what, boot_time now) {
  auto& here = all_[static_cast<std::size_t>(what)];
  std::vector<std::pair<double, const std::string*>> by_use;
  by_use.reserve(here.size());
  for (const auto& [key, s] : here) by_use.emplace_back(used(what, s, now), &key);
  const auto middle = by_use.begin() + static_cast<std::ptrdiff_t>(by_use.size() / 2);
  std::nth_element(by_use.begin(), middle, by_use.end());
  std::vector<std::string> gone;
  gone.reserve(by_use.size() / 2);
  for (auto at = by_use.begin(); at != middle; ++at) gone.push_back(*at->second);
  for (const auto& key : gone) here.erase(key);
}

std::vector<byte_shares::kept> byte_shares::all(boot_time now) const {
  std::vector<kept> found;
  for (const auto what : {kind::token, kind::author, kind::scope})
    for (const auto& [key, s] : all_[static_cast<std::size_t>(what)])
      if (const auto left = used(what, s, now); left >= 1) found.push_back({what, key, left});
  return found;
}

void byte_shares::restore(const std::vector<kept>& shares, std::chrono::nanoseconds since, boot_time now) {
  for (const auto& one : shares) {
    if (limit(one.what) <= 0) continue;
    const auto left = used(one.what, {one.used, now - std::max(since, std::chrono::nanoseconds{0})}, now);
    if (left > 0) fill({one.what, one.key}, left, now);
  }
}

std::size_t byte_shares::size() const {
  std::size_t count = 0;
  for (const auto& here : all_) count += here.size();
  return count;
}

} // namespace quell::controller
