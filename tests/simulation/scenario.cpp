// From a seed to a scenario. Each scenario has a random subset of the faults (a run with all of them mostly finds
// nothing, because few operations get far enough).
#include "tests/simulation/scenario.hpp"

#include <algorithm>

#include "tests/simulation/random.hpp"

namespace quell::simulation {

namespace {

struct weighted {
  act what;
  unsigned weight;
};

act draw_order(random_stream& r) {
  static constexpr weighted table[] = {{act::cancel_operation, 30},
                                       {act::cancel_scope, 30},
                                       {act::cancel_owner, 6},
                                       {act::cancel_everything, 3},
                                       {act::cancel_unknown, 6},
                                       {act::cancel_again, 14},
                                       {act::drain, 4},
                                       {act::resume, 4},
                                       {act::remove, 2},
                                       {act::declare_operation, 3},
                                       {act::declare_worker, 2},
                                       {act::start_nested_now, 6}};
  unsigned sum = 0;
  for (const auto& w : table) sum += w.weight;
  auto x = r.below(sum);
  for (const auto& w : table) {
    if (x < w.weight) return w.what;
    x -= w.weight;
  }
  return act::cancel_scope;
}

/// The acts that a trouble brings, how often, and how long each lasts.
struct fault_kind {
  trouble why;
  act what;
  unsigned most;
  instant least, longest;
};
constexpr fault_kind fault_kinds[] = {
    {trouble::broken_links, act::break_link, 6, 0, 0},
    {trouble::partitions, act::partition, 3, 200 * ms, 40 * seconds},
    {trouble::partitions, act::cut_up, 2, 200 * ms, 30 * seconds},
    {trouble::partitions, act::cut_down, 2, 200 * ms, 30 * seconds},
    {trouble::controller_crash, act::crash_controller, 4, 1 * ms, 20 * seconds},
    {trouble::handover, act::hand_over, 2, 100 * ms, 30 * seconds},
    {trouble::worker_crash, act::crash_worker, 3, 10 * ms, 15 * seconds},
    {trouble::worker_leave, act::leave_worker, 2, 10 * ms, 10 * seconds},
    {trouble::guardian_death, act::kill_guardian, 2, 0, 0},
    {trouble::freeze, act::freeze_worker, 3, 100 * ms, 40 * seconds},
    {trouble::reboot, act::reboot_machine, 1, 1 * seconds, 20 * seconds},
    {trouble::wall_steps, act::step_wall, 2, 0, 0},
    {trouble::slow_disk, act::slow_disk, 3, 100 * ms, 12 * seconds},
    {trouble::full_disk, act::full_disk, 2, 50 * ms, 10 * seconds},
    {trouble::broken_disk, act::broken_disk, 1, 10 * ms, 3 * seconds},
};

/// Limits of slots, in some scenarios without speech: what is said waits for tasks.
guild_limits draw_guilds(std::uint64_t seed) {
  guild_limits g;
  random_stream r(seed, 18);
  const bool talks = mix(seed, 14) % 5 < 2 && mix(seed, 15) % 5 < 2;
  if (talks || !r.chance(200)) return g;
  g.of_each = r.chance(700) ? static_cast<std::uint32_t>(r.between(1, 4)) : 0;
  g.by_scope = r.chance(600);
  g.changes = r.chance(500);
  g.of_some = draw_limits(r.next());
  return g;
}

} // namespace

controller::slots_by_guild draw_limits(std::uint64_t salt) {
  random_stream r(salt);
  controller::slots_by_guild all;
  for (const char* guild : {"team/a", "team/ab", "team/b", "den/x"})
    if (const auto slots = static_cast<std::uint32_t>(r.between(1, 4)); r.chance(500)) all.emplace(guild, slots);
  return all;
}

scenario make_scenario(std::uint64_t seed, const cuts& without) {
  random_stream r(seed, 1);
  scenario s;
  s.seed = seed;
  const unsigned density = static_cast<unsigned>(r.between(50, 450));
  for (unsigned t = 0; t < static_cast<unsigned>(trouble::actor_death); ++t)
    if (r.chance(density)) s.troubles |= 1U << t;
  if (random_stream(seed, 16).chance(density)) s.troubles |= 1U << static_cast<unsigned>(trouble::actor_death);
  // A theme: ends of leases, with the least possible slack.
  const bool about_leases = random_stream(seed, 9).chance(100);
  if (about_leases)
    s.troubles = 1U << static_cast<unsigned>(trouble::partitions) | 1U << static_cast<unsigned>(trouble::drift) |
                 1U << static_cast<unsigned>(trouble::slow_death) |
                 (mix(seed, 10) & 1U) << static_cast<unsigned>(trouble::slow_disk);
  s.troubles &= ~without.troubles_off;
  s.chats = !without.chats_off && mix(seed, 14) % 5 < 2;
  s.voice = s.chats && !without.voice_off && mix(seed, 15) % 5 < 2;
  // Mostly few workers: most faults between many workers also occur between three.
  s.workers = r.chance(850) ? static_cast<std::size_t>(r.between(1, 4)) : static_cast<std::size_t>(r.between(5, 20));
  constexpr std::int64_t most_ppm = 4'970; // two clocks differ by less than 1 %
  for (std::size_t i = 0; i <= s.workers; ++i) {
    std::int64_t ppm = r.between(-most_ppm, most_ppm);
    if (r.chance(500)) ppm = r.chance(500) ? most_ppm : -most_ppm;
    if (about_leases) ppm = i == 0 ? most_ppm : -most_ppm;
    s.ppm.push_back(s.has(trouble::drift) ? ppm : 0);
    if (i > 0) s.slots.push_back(static_cast<std::uint32_t>(r.between(1, 6)));
  }
  switch (r.below(4)) {
  case 0:
    s.heartbeat = milliseconds{500}, s.lease = milliseconds{4000}, s.handover = milliseconds{15000};
    break;
  case 1:
    s.heartbeat = milliseconds{1000}, s.lease = milliseconds{10000}, s.handover = milliseconds{30000};
    break;
  default:
    s.heartbeat = milliseconds{1000}, s.lease = milliseconds{5000}, s.handover = milliseconds{20000};
    break;
  }
  // Nearly the limit of a session: three heartbeats, and three seconds for a welcome.
  if (about_leases && s.has(trouble::partitions) && s.heartbeat.count() == 1000 && (mix(seed, 12) & 1U) != 0)
    s.far = 1250 * ms + static_cast<instant>(mix(seed, 13) % 200) * ms;
  s.active = r.between(4, 25) * seconds;
  if (about_leases) s.active += 5 * s.lease.count() * ms;

  int number = 0;
  const auto add = [&](act what, instant at, instant lasts, random_stream& from) {
    scheduled e{++number, at, what, static_cast<std::size_t>(from.below(s.workers)), lasts, from.next()};
    if (!without.dropped.contains(e.number)) s.schedule.push_back(e);
  };
  // Bursts, so that orders meet each other in flight.
  std::vector<instant> bursts;
  for (auto n = r.between(2, 6); n > 0; --n) bursts.push_back(r.between(0, s.active));
  const auto moment_in = [&](random_stream& from) {
    if (from.chance(400)) return static_cast<instant>(from.between(0, s.active));
    return bursts[from.below(bursts.size())] + from.long_tailed(1, 400 * ms);
  };
  random_stream starts(seed, 2), orders(seed, 3);
  for (auto n = starts.long_tailed(6, 100); n > 0; --n) add(act::start, moment_in(starts), 0, starts);
  for (auto n = orders.long_tailed(3, 40); n > 0; --n) add(draw_order(orders), moment_in(orders), 0, orders);
  for (std::size_t k = 0; k < std::size(fault_kinds); ++k) {
    const auto& kind = fault_kinds[k];
    random_stream from(seed, 100 + k);
    for (auto n = from.between(0, kind.most); n > 0; --n) {
      const instant at = moment_in(from);
      const instant lasts = kind.longest > 0 ? from.long_tailed(kind.least, kind.longest) : 0;
      if (s.has(kind.why))
        add(kind.what, at, lasts, from);
      else
        ++number, from.below(1), from.next();
    }
  }
  if (about_leases) {
    random_stream tight(seed, 11);
    for (int n = 0; n < 3; ++n) {
      // Answers that are late, but in time for the session; and then a silence longer than any lease.
      const instant at = tight.between(2 * seconds, s.active - 4 * s.lease.count() * ms);
      const instant late = tight.between(2200, 3200) * s.heartbeat.count() * us;
      const instant silent = 3 * s.lease.count() * ms;
      const auto who = tight.next();
      random_stream first(who), second(who);
      if (!s.has(trouble::partitions)) continue;
      add(act::cut_down, at, s.far > 0 ? 1 * ms : late, first);
      // If frames are slow, answers that left before the silence still arrive.
      add(s.far > 0 ? act::cut_up : act::partition, at + late + tight.between(1, 120) * ms, silent, second);
    }
  }
  if (!without.guilds_off) s.guilds = draw_guilds(seed);
  if (s.guilds.changes) {
    random_stream reloads(seed, 19);
    for (auto n = reloads.between(1, 4); n > 0; --n) add(act::limit_slots, moment_in(reloads), 0, reloads);
  }
  std::stable_sort(s.schedule.begin(), s.schedule.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  for (const auto& e : s.schedule) s.active = std::max(s.active, e.at);
  return s;
}

std::string describe(const scheduled& s) {
  std::string text = "#" + std::to_string(s.number) + " " + std::string(act_names[static_cast<std::size_t>(s.what)]) +
                     " at " + std::to_string(static_cast<double>(s.at) / 1e9) + " s, worker w" +
                     std::to_string(s.worker + 1);
  if (s.lasts > 0) text += ", lasts " + std::to_string(static_cast<double>(s.lasts) / 1e9) + " s";
  return text;
}

std::string describe(const scenario& s) {
  std::string text = "seed " + std::to_string(s.seed) + ": " + std::to_string(s.workers) + " workers, lease " +
                     std::to_string(s.lease.count()) + " ms, " + (s.far > 0 ? "far, " : "") +
                     (s.chats ? "with chats, " : "") + (s.voice ? "with voice, " : "") +
                     (s.guilds.any() ? "limits of guilds, " : "") + "active " + std::to_string(s.active / ms) +
                     " ms; troubles:";
  for (unsigned t = 0; t < static_cast<unsigned>(trouble::count_); ++t)
    if (s.has(static_cast<trouble>(t))) text += " " + std::string(trouble_names[t]);
  text += "\n";
  for (const auto& e : s.schedule) text += "  " + describe(e) + "\n";
  return text;
}

} // namespace quell::simulation
