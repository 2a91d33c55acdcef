// Behaviour of a task's processes: drawn from the operation's id, so that it is the same in every run of a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/scenario.hpp"

namespace quell::simulation {

struct process_script {
  instant starts = 0; ///< after the exec
  instant lasts = 0;  ///< on its own
  bool ignores_term = false;
  instant dies_after = 0; ///< once it is signalled
  instant kill_takes = 0; ///< from SIGKILL to gone
  bool stuck = false;     ///< in the kernel: SIGKILL waits until that lets it go
};

struct nested_start {
  instant after = 0; ///< the exec
  std::uint64_t salt = 0;
};

struct task_script {
  bool spawn_fails = false;
  bool exec_fails = false;
  std::int32_t exit_code = 0;
  int entrants = 0;                      ///< processes that enter the containment after a kill
  std::vector<process_script> processes; ///< the leader first
  std::vector<nested_start> nested;
};

inline task_script script_of(const scenario& s, const operation_id& id, unsigned depth) {
  random_stream r(mix(s.seed, std::hash<operation_id>{}(id)), 400);
  task_script t;
  const auto process = [&] {
    process_script p;
    p.ignores_term = r.chance(250);
    p.dies_after = r.long_tailed(50 * us, 900 * ms);
    p.kill_takes = r.between(50, 2000) * us;
    if (s.has(trouble::slow_death) && r.chance(250)) {
      // A slow kill that mostly takes nearly the whole margin that the guardian keeps before the end of a lease.
      const instant margin = std::min<instant>(s.lease.count() / 10, 2000) * ms;
      p.kill_takes = r.chance(700) ? margin - r.between(5, 30) * ms : r.between(margin / 2, margin - 30 * ms);
    }
    p.stuck = s.has(trouble::stuck_process) && r.chance(30);
    return p;
  };
  t.spawn_fails = r.chance(15);
  t.exec_fails = r.chance(30);
  t.exit_code = r.chance(250) ? static_cast<std::int32_t>(r.between(1, 255)) : 0;
  t.entrants = r.chance(80) ? static_cast<int>(r.between(1, 3)) : 0;
  auto leader = process();
  leader.lasts = r.chance(80) ? 0 : r.long_tailed(1 * ms, 25 * seconds);
  t.processes.push_back(leader);
  for (auto n = r.chance(300) ? r.between(1, 3) : 0; n > 0; --n) {
    auto child = process();
    child.starts = r.between(0, leader.lasts);
    child.lasts = r.long_tailed(1 * ms, 12 * seconds); // can outlive the leader
    t.processes.push_back(child);
  }
  if (depth < 4)
    for (auto n = r.chance(350) ? r.between(1, 3) : 0; n > 0; --n)
      t.nested.push_back({r.between(0, leader.lasts), r.next()});
  return t;
}

} // namespace quell::simulation
