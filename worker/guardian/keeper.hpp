// The keeper: one process per task between the guardian and the task's leader (README.md, "Who is who").
//
// In a PID namespace it is the namespace's init; otherwise it is a subreaper outside of the task's cgroup. It forks the
// leader, reaps all the task's processes, passes on signals, and kills the task if the guardian dies. It is forked from
// the guardian without exec.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/vocabulary.hpp"
#include "worker/guardian/workspace_view.hpp"

namespace quell::worker {

class sandbox;

/// A keeper's instructions; they point into the guardian's memory, of which the keeper has a copy.
struct keeper_orders {
  containment level = containment::group;
  int channel = -1; ///< SOCK_SEQPACKET to the guardian
  int cgroup = -1;  ///< the task's cgroup directory, at the cgroup levels
  int life = -1;    ///< the worker's life lock: held for the keeper's lifetime
  int hold = -1, in = -1, out = -1, err = -1;
  bool pty = false;
  on_leader_exit leader_exit = on_leader_exit::wait;
  const char* directory = "/";
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  pid_t guardian = 0;
  std::uint64_t open_files_limit = 0; ///< RLIMIT_NOFILE (soft), restored for the task
  bool memory_can_be_lent = false;    ///< see `lends_memory` in keeper.cpp
  bool changes_user = false;          ///< to the user and groups below
  uid_t uid = 0;
  gid_t gid = 0;
  const sandbox* confinement = nullptr;
  const gid_t* groups = nullptr;
  std::size_t group_count = 0;
  const int* secrets = nullptr; ///< memory files for the leader
  std::size_t secret_count = 0;
  workspace_orders workspace;
};

/// The descriptors that the guardian keeps occupied, so that a keeper can place its own there. 3 to 27.
inline constexpr int reserved_descriptors = 32;

enum class start_step : std::uint8_t {
  none,
  keeper,
  mount,
  fork,
  session,
  terminal,
  streams,
  directory,
  exec,
  user,
  sandbox,
  workspace
};
enum class exec_state : std::uint8_t { unknown, succeeded, failed, never };

/// A process that the leader left running; `command` ends with NUL.
struct left_process {
  std::int32_t pid = 0; ///< as the task itself numbers it
  char state = 0;
  char command[67] = {};
};
constexpr std::uint32_t most_left_reported = 8, most_left_counted = 1'000;

/// Keeper to guardian: everything known so far; sent whenever it grows. `held` comes from the leader itself, with its
/// credentials.
struct keeper_report {
  bool held = false;
  exec_state exec = exec_state::unknown;
  start_step step = start_step::none; ///< the step that failed
  std::int32_t error = 0;             ///< its errno
  std::int32_t code = 0;              ///< 126 or 127 for a failed exec
  bool exited = false;
  std::int32_t wait_status = 0; ///< of the leader, as from waitpid
  // With on_leader_exit=kill: what lived at the leader's end. At most `most_left_counted` are counted.
  std::uint32_t left_total = 0;
  left_process left[most_left_reported];
};

/// Leader to keeper: over the pipe that exec closes, or in the memory that both use until the exec.
struct exec_failure {
  start_step step = start_step::exec;
  bool never = false; ///< the hold ended without a go
  std::int32_t error = 0;
  std::int32_t code = 0;
};

/// Guardian to keeper.
struct keeper_command {
  enum class what : std::uint8_t { signal, kill } act = what::signal;
  std::int32_t signal = 0;
};

/// Runs in the freshly cloned process. Never returns.
[[noreturn]] void run_keeper(const keeper_orders& orders);

/// The place of a leader's report that it did not execute.
struct exec_failure_place {
  int pipe = -1;                                 ///< or -1
  std::optional<exec_failure>* shared = nullptr; ///< in the keeper's memory, without a pipe
};

/// Runs in the process that the keeper forks: sets up, reports that it is held, waits for the go, executes. Never
/// returns. It may have borrowed the keeper's memory: it changes nothing there except its own stack and the failure.
[[noreturn]] void run_leader(const keeper_orders& orders, pid_t keeper, exec_failure_place failures);

/// Sends SIGKILL once to every descendant of this process except those in and below `but_not` (sorted). It reaps
/// nothing; repeat until none is left.
void kill_descendants_once(const std::vector<pid_t>& but_not);

} // namespace quell::worker
