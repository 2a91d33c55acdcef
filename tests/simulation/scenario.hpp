// The meaning of one seed: the size of the cluster, its settings, and a schedule of orders and faults. A value without
// behaviour.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/slot_limits.hpp"
#include "protocol/time.hpp"
#include "tests/simulation/events.hpp"

namespace quell::simulation {

/// Kinds of trouble that can be switched off as a whole, to make a failing run smaller.
enum class trouble : std::uint8_t {
  jitter,
  broken_links,
  hostile_links,
  partitions,
  controller_crash,
  handover,
  worker_crash,
  worker_leave,
  guardian_death,
  freeze,
  reboot,
  drift,
  wall_steps,
  slow_disk,
  full_disk,
  broken_disk,
  slow_death,
  stuck_process,
  late_clients,
  actor_death, ///< of agents and tools in quelld: one throws in a handler (virtual_agents.cpp)
  count_
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(trouble::count_)> trouble_names{
    "jitter",      "broken_links", "hostile_links", "partitions",     "controller_crash",
    "handover",    "worker_crash", "worker_leave",  "guardian_death", "freeze",
    "reboot",      "drift",        "wall_steps",    "slow_disk",      "full_disk",
    "broken_disk", "slow_death",   "stuck_process", "late_clients",   "actor_death"};

/// One entry of the schedule.
enum class act : std::uint8_t {
  start,
  start_nested_now,
  cancel_operation,
  cancel_scope,
  cancel_owner,
  cancel_everything,
  cancel_unknown,
  cancel_again,
  drain,
  resume,
  remove,
  declare_operation,
  declare_worker,
  break_link,
  partition,
  cut_up,
  cut_down,
  crash_controller,
  hand_over,
  crash_worker,
  leave_worker,
  kill_guardian,
  freeze_worker,
  reboot_machine,
  step_wall,
  slow_disk,
  full_disk,
  broken_disk,
  limit_slots,
  count_
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(act::count_)> act_names{
    "start",          "nested start",  "cancel operation",
    "cancel scope",   "cancel owner",  "cancel everything",
    "cancel unknown", "cancel again",  "drain",
    "resume",         "remove",        "declare operation",
    "declare worker", "break link",    "partition",
    "cut up",         "cut down",      "crash controller",
    "hand over",      "crash worker",  "leave worker",
    "kill guardian",  "freeze worker", "reboot machine",
    "step wall",      "slow disk",     "full disk",
    "broken disk",    "limit slots"};

struct scheduled {
  int number = 0;
  instant at = 0;
  act what = act::start;
  std::size_t worker = 0;
  instant lasts = 0;
  std::uint64_t salt = 0;
};

/// The parts that the shrinker removes from a seed's scenario.
struct cuts {
  std::uint32_t troubles_off = 0; ///< bit per `trouble`
  std::set<int> dropped;          ///< schedule entries by number
  bool chats_off = false, voice_off = false, guilds_off = false;
};

/// How many slots guilds may hold, as a configuration says it.
struct guild_limits {
  std::uint32_t of_each = 0; ///< 0 = no limit
  controller::slots_by_guild of_some;
  bool changes = false;  ///< reloads replace `of_some`
  bool by_scope = false; ///< clients are chat services, so that a guild is the start of a scope; else it is a token
  bool any() const { return of_each > 0 || !of_some.empty() || changes; }
};
/// The numbers of places, as another configuration could have them.
controller::slots_by_guild draw_limits(std::uint64_t salt);

struct scenario {
  std::uint64_t seed = 0;
  std::uint32_t troubles = 0;
  std::size_t workers = 1;
  std::vector<std::uint32_t> slots;
  std::vector<std::int64_t> ppm; ///< clocks: the controller's first, then one per worker
  milliseconds heartbeat{1000}, lease{10000}, handover{60000};
  instant far = 0;    ///< what every frame takes, beyond the usual
  instant active = 0; ///< faults and orders end here
  std::vector<scheduled> schedule;
  bool chats = false; ///< people write to agents, too (chatters.hpp)
  bool voice = false; ///< and talk to them (voice_callers.hpp)
  guild_limits guilds;

  bool has(trouble t) const { return (troubles >> static_cast<unsigned>(t) & 1U) != 0; }
};

scenario make_scenario(std::uint64_t seed, const cuts& without = {});
std::string describe(const scenario& s);
std::string describe(const scheduled& s);

} // namespace quell::simulation
