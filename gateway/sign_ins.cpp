// The table of sign-ins.
#include "gateway/sign_ins.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "protocol/sha256.hpp"

namespace quell::controller::http {

namespace {

template <class Map, class Of>
void make_room(Map& map, const std::string& token, std::size_t most, Of since) {
  while (true) {
    auto oldest = map.end();
    std::size_t count = 0;
    for (auto at = map.begin(); at != map.end(); ++at) {
      if (at->second.token != token) continue;
      ++count;
      if (oldest == map.end() || since(at->second) < since(oldest->second)) oldest = at;
    }
    if (count < most) return;
    map.erase(oldest);
  }
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

std::optional<wall_time> millis(const std::string& text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return wall_time{milliseconds{count}};
}

} // namespace

sign_in sign_in_table::open(std::string id, std::string_view secret, std::string token, std::string token_hash,
                            wall_time now) {
  drop_old(now);
  make_room(open_, token, most_per_token, [](const sign_in& s) { return s.created_at; });
  sign_in made{std::move(id), sha256_hex(secret), std::move(token), std::move(token_hash), now, now + idle_life};
  by_hash_.clear();
  open_[made.id] = made;
  for (const auto& [of, one] : open_) by_hash_[one.secret_hash] = of;
  return made;
}

const sign_in* sign_in_table::find(std::string_view secret, wall_time now) const {
  // Looks up by the hash of the sent secret: the time of the lookup reveals nothing about another's secret.
  const auto id = by_hash_.find(sha256_hex(secret));
  if (id == by_hash_.end()) return nullptr;
  const auto found = open_.find(id->second);
  return found == open_.end() || found->second.expires_at <= now ? nullptr : &found->second;
}

bool sign_in_table::renew(const std::string& id, wall_time now) {
  const auto found = open_.find(id);
  if (found == open_.end()) return false;
  auto& one = found->second;
  const wall_time end = std::min<wall_time>(now + idle_life, one.created_at + whole_life);
  if (end < one.expires_at + renewal_interval) return false;
  one.expires_at = end;
  return true;
}

bool sign_in_table::is_open(const std::string& id, wall_time now) const {
  const auto found = open_.find(id);
  return found != open_.end() && found->second.expires_at > now;
}

bool sign_in_table::end(const std::string& id) { return open_.erase(id) > 0; }

void sign_in_table::end_token(const std::string& token) {
  std::erase_if(open_, [&](const auto& one) { return one.second.token == token; });
  std::erase_if(links_, [&](const auto& one) { return one.second.token == token; });
}

void sign_in_table::add_link(std::string_view secret, std::string token, std::string token_hash, wall_time now) {
  drop_old(now);
  make_room(links_, token, most_per_token, [](const link& l) { return l.expires_at; });
  links_[sha256_hex(secret)] = {std::move(token), std::move(token_hash), now + link_life};
}

std::optional<sign_in_table::link> sign_in_table::take_link(std::string_view secret, wall_time now) {
  drop_old(now);
  const auto found = links_.find(sha256_hex(secret));
  if (found == links_.end()) return std::nullopt;
  auto taken = std::move(found->second);
  links_.erase(found);
  return taken;
}

void sign_in_table::drop_old(wall_time now) {
  std::erase_if(open_, [&](const auto& one) { return one.second.expires_at <= now; });
  std::erase_if(links_, [&](const auto& one) { return one.second.expires_at <= now; });
}

std::string sign_in_table::text() const {
  std::string out;
  for (const auto& [id, s] : open_)
    out += id + ' ' + s.secret_hash + ' ' + s.token + ' ' + s.token_hash + ' ' +
           std::to_string(s.created_at.time_since_epoch().count()) + ' ' +
           std::to_string(s.expires_at.time_since_epoch().count()) + '\n';
  return out;
}

void sign_in_table::restore(std::string_view text, wall_time now) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    sign_in one;
    std::string created, expires;
    if (!(words >> one.id >> one.secret_hash >> one.token >> one.token_hash >> created >> expires)) continue;
    const auto from = millis(created), until = millis(expires);
    if (!from || !until || *until <= now || *until > *from + whole_life) continue;
    one.created_at = *from;
    one.expires_at = *until;
    by_hash_[one.secret_hash] = one.id;
    open_[one.id] = std::move(one);
  }
}

std::string_view cookie_in(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const auto end = header.find(';');
    auto item = header.substr(0, end);
    header = end == std::string_view::npos ? std::string_view{} : header.substr(end + 1);
    while (item.starts_with(' ')) item.remove_prefix(1);
    if (item.size() > name.size() && item.starts_with(name) && item[name.size()] == '=')
      return item.substr(name.size() + 1);
  }
  return {};
}

std::string cookie_name(std::string_view host) {
  const auto colon = host.rfind(':');
  std::string name = "quell_session";
  if (colon == std::string_view::npos || host.ends_with(']')) return name;
  const auto port = host.substr(colon + 1);
  if (port.empty() || port.size() > 5 ||
      !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return name;
  return name + '_' + std::string(port);
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme))
      return !host.empty() && lower_case(origin.substr(scheme.size())) == lower_case(host);
  return false;
}

} // namespace quell::controller::http
