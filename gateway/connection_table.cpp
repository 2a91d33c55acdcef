// Groups connections by their activity, and chooses which one makes room.
#include "gateway/connection_table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace quell::controller::http {

void owned_groups::add(const std::string& owner, instant since, std::uint64_t id) {
  auto& group = groups_[owner];
  if (!group.empty()) by_size_.erase({group.size(), owner});
  group.emplace(since, id);
  by_size_.emplace(group.size(), owner);
  ++size_;
}

void owned_groups::remove(const std::string& owner, instant since, std::uint64_t id) {
  const auto found = groups_.find(owner);
  if (found == groups_.end() || !found->second.contains({since, id})) return;
  auto& group = found->second;
  by_size_.erase({group.size(), owner});
  group.erase({since, id});
  --size_;
  if (group.empty())
    groups_.erase(found);
  else
    by_size_.emplace(group.size(), owner);
}

std::optional<owned_groups::largest_group> owned_groups::largest() const {
  if (by_size_.empty()) return std::nullopt;
  const auto& [size, owner] = *by_size_.rbegin();
  const auto& [since, oldest] = *groups_.at(owner).begin();
  return largest_group{owner, size, oldest, since};
}

std::size_t owned_groups::size_of(const std::string& owner) const {
  const auto found = groups_.find(owner);
  return found == groups_.end() ? 0 : found->second.size();
}

connection_table::id connection_table::enter(std::string peer, place where, std::function<void()> close, instant now) {
  const auto which = next_++;
  const auto& e =
      entries_.emplace(which, entry{std::move(peer), {}, where, phase::idle, now, std::move(close)}).first->second;
  if (where == place::reserved) reserved_.insert(which);
  enlist(which, e);
  return which;
}

void connection_table::leave(id which) {
  const auto found = entries_.find(which);
  if (found == entries_.end()) return; // it has made room
  unlist(which, found->second);
  reserved_.erase(which);
  entries_.erase(found);
}

void connection_table::move(id which, phase to, instant now) {
  const auto found = entries_.find(which);
  if (found == entries_.end()) return;
  unlist(which, found->second);
  found->second.now = to;
  found->second.since = now;
  enlist(which, found->second);
}

void connection_table::belongs_to(id which, const std::string& token) {
  const auto found = entries_.find(which);
  if (found == entries_.end()) return;
  unlist(which, found->second);
  found->second.token = token;
  enlist(which, found->second);
}

bool connection_table::make_room(instant now, instant::duration at_least) {
  const auto idle = idle_.largest();
  const auto watching = watching_.largest();
  const bool watches_too_much = watching && watching->size > std::max<std::size_t>(1, most_ / 4);
  if (watches_too_much && (!idle || watching->size > idle->size)) {
    drop(watching->oldest);
    return true;
  }
  if (!idle || now - idle->since < at_least) return false;
  drop(idle->oldest);
  return true;
}

const connection_table::reserve_group* connection_table::largest(const reserve_groups& all) {
  const reserve_group* found = nullptr;
  for (const auto& [owner, group] : all)
    if (group.oldest &&
        (!found || group.held > found->held || (group.held == found->held && *group.oldest < *found->oldest)))
      found = &group;
  return found;
}

bool connection_table::make_room_in_reserve() {
  reserve_groups peers, tokens; // the reserve is small: counting it anew is cheaper than keeping its groups
  for (const auto which : reserved_) {
    const auto& e = entries_.at(which);
    auto& group = e.now == phase::watching ? tokens[e.token] : peers[e.peer];
    ++group.held;
    if (e.now == phase::at_work) continue;
    const std::pair since(e.since, which);
    if (!group.oldest || since < *group.oldest) group.oldest = since;
  }
  const auto* idle = largest(peers);
  const auto* watching = largest(tokens);
  if (!idle && !watching) return false;
  // The cancel that somebody watches goes on without its watcher; who has just come has not even asked.
  const bool from_watching = !idle || (watching && watching->held > idle->held);
  drop((from_watching ? watching : idle)->oldest->second);
  return true;
}

void connection_table::close_idle() {
  std::vector<id> idle;
  for (const auto& [which, e] : entries_)
    if (e.now == phase::idle) idle.push_back(which);
  for (const auto which : idle) drop(which);
}

std::string connection_table::summary() const {
  std::string text = std::to_string(idle_.size()) + " wait for their client";
  if (const auto most = idle_.largest()) text += " (" + std::to_string(most->size) + " of " + most->owner + ")";
  text += ", " + std::to_string(watching_.size()) + " watch";
  if (const auto most = watching_.largest())
    text += " (" + std::to_string(most->size) + " of token " + most->owner + ")";
  return text + "; " + std::to_string(dropped_) + " were closed so far to make room";
}

void connection_table::enlist(id which, const entry& e) {
  if (e.now == phase::at_work || e.where == place::reserved) return;
  if (e.now == phase::watching)
    watching_.add(e.token, e.since, which);
  else
    idle_.add(e.peer, e.since, which);
}

void connection_table::unlist(id which, const entry& e) {
  if (e.where == place::reserved) return;
  if (e.now == phase::watching)
    watching_.remove(e.token, e.since, which);
  else
    idle_.remove(e.peer, e.since, which);
}

void connection_table::drop(id which) {
  const auto close = std::move(entries_.at(which).close);
  leave(which);
  ++dropped_;
  close();
}

} // namespace quell::controller::http
