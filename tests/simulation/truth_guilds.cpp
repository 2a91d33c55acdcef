// Limits of slots: no guild holds more than it may, however the limits change, and who may start is not held back by
// another guild that waits.
#include <algorithm>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;

namespace {
/// A task is placed in the same burst of messages in which it can be.
constexpr instant longest_wait = 5 * seconds;
} // namespace

/// Work of a stored token counts for the token. A guild is the first two segments of a scope.
std::string oracle::guild_of(const row& r) const {
  const auto& token = r.record.via_token_id;
  if (!token.empty() && token != bootstrap_token_id && token != own_token_id && token.rfind("service:", 0) != 0)
    return token;
  const auto& scope = r.record.scope.text();
  const auto first = scope.find('/');
  return first == std::string::npos ? scope : scope.substr(0, scope.find('/', first + 1));
}

/// 0 = no limit.
std::uint32_t oracle::limit_of(const std::string& guild, const slots_by_guild& places) const {
  const auto own = places.find(guild);
  return own == places.end() ? world_.plan.guilds.of_each : own->second;
}

/// By any of the limits by which tasks on disk can have been placed.
std::uint32_t oracle::most_of(const std::string& guild) const {
  std::uint32_t most = 0;
  for (const auto& limits : limits_) {
    const auto one = limit_of(guild, limits);
    if (one == 0) return 0;
    most = std::max(most, one);
  }
  return most;
}

std::uint64_t oracle::limits_changed(slots_by_guild of_guilds) {
  limits_.push_back(std::move(of_guilds));
  return ++limits_number_;
}

void oracle::limits_hold(std::uint64_t number) {
  while (limits_number_ - number + 1 < limits_.size()) limits_.pop_front();
  for (const auto& [guild, use] : use_on_disk())
    if (const auto most = most_of(guild); most > 0 && use.slots > most) too_many_[guild] = use.slots;
}

std::map<std::string, oracle::guild_use> oracle::use_on_disk() const {
  std::map<std::string, guild_use> all;
  for (const auto& r : rows_) {
    const auto& hot = r.record.hot;
    if (is_terminal_row(r) || !hot.worker || hot.self_status || r.record.kind != kind::task) continue;
    if (r.record.task.slots == 0) continue;
    auto& use = all[guild_of(r)];
    use.slots += r.record.task.slots;
    ++use.tasks;
  }
  return all;
}

/// One that is larger than the limit runs alone.
void oracle::check_use(const std::map<std::string, guild_use>& use, const char* where) {
  for (const auto& [guild, has] : use) {
    std::uint64_t most = most_of(guild);
    if (most == 0) continue;
    const auto before = too_many_.find(guild);
    if (before != too_many_.end()) most = std::max(most, before->second);
    if (has.slots > most && has.tasks > 1)
      world_.violate("slots of a guild", guild + " holds " + std::to_string(has.slots) + " slots " + where +
                                             ", and may hold " + std::to_string(most));
  }
}

void oracle::check_guilds() {
  if (!world_.plan.guilds.any() || world_.failed() || writes_failed_) return;
  const auto use = use_on_disk();
  check_use(use, "on disk");
  for (auto& [guild, slots] : too_many_)
    if (const auto now = use.find(guild); now == use.end() || now->second.slots < slots)
      slots = now == use.end() ? 0 : now->second.slots;
  std::erase_if(too_many_, [&](const auto& one) { return one.second <= most_of(one.first); });
}

void oracle::check_guild_processes() {
  if (!world_.plan.guilds.any() || world_.failed() || writes_failed_) return;
  std::map<std::string, guild_use> use;
  for (const auto& r : rows_) {
    if (r.living == 0 || r.slots == 0 || r.was_declared) continue;
    if (!world_.workers[r.worker]->host().could_run(r.record.id)) continue;
    auto& of = use[guild_of(r)];
    of.slots += r.slots;
    ++of.tasks;
  }
  check_use(use, "with processes");
}

void oracle::check_held_back(commit_gate& core) {
  if (!world_.plan.guilds.any() || world_.failed()) return;
  if (world_.controller.hands_over()) return held_back_.clear();
  const auto now = world_.controller.now();
  std::map<std::string, std::uint64_t> held;
  std::map<std::string, std::uint64_t> largest; ///< of those that wait
  std::vector<const row*> waiting;
  for (const auto& r : rows_) {
    if (is_terminal_row(r) || r.record.kind != kind::task) continue;
    const auto view = core.operations().view(r.record.id, now);
    if (!view || is_terminal(view->hot.now)) continue;
    const auto slots = r.record.task.slots;
    if (view->hot.worker && !view->hot.self_status) held[guild_of(r)] += slots;
    if (view->hot.worker || view->hot.now != status::pending) continue;
    auto& most = largest[guild_of(r)];
    most = std::max<std::uint64_t>(most, slots);
    if (!r.record.supersede) waiting.push_back(&r); // one with a key can wait for an older one
  }
  std::map<std::string, std::uint32_t> free;
  for (std::size_t w = 0; w < workers_.size(); ++w)
    if (const auto view = core.workers().worker(world_.name(w), now);
        view && view->status == worker_status::ready && !view->trouble && view->record.slots >= view->slots_used)
      free[world_.name(w)] = view->record.slots - view->slots_used;
  const auto has_room = [&](const row& r) {
    const auto guild = guild_of(r);
    const auto most = limit_of(guild, limits_.back());
    return most == 0 || r.record.task.slots == 0 || held[guild] == 0 || held[guild] + largest[guild] <= most;
  };
  const auto fits = [&](const row& r) {
    if (r.record.task.least_containment || !r.record.task.on.empty()) return false; // not every worker matches
    return std::any_of(free.begin(), free.end(), [&](const auto& w) {
      return (!r.record.task.worker || *r.record.task.worker == w.first) && r.record.task.slots <= w.second;
    });
  };
  std::map<operation_id, instant> still;
  bool is_reserved = false;
  for (const row* r : waiting) {
    if (!has_room(*r)) continue;
    if (!fits(*r)) {
      is_reserved = is_reserved || starts_sent_.size() >= 50; // for a task that was passed over so often
      continue;
    }
    const auto before = held_back_.find(r->record.id);
    still[r->record.id] = before == held_back_.end() ? world_.events.now() : before->second;
  }
  if (is_reserved) still.clear();
  held_back_ = std::move(still);
  for (const auto& [id, since] : held_back_)
    if (world_.events.now() - since > longest_wait)
      return world_.violate("held back", world_.label(id) + " waits, and its guild " + guild_of(*find(id)) +
                                             " and a worker have room for it");
}

} // namespace quell::simulation
