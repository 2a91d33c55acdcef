// The worker's end of its guardian: launches it, sends it spawn and stop requests, and receives its events.
//
// The guardian is a separate small process (`quell-guardian`), the parent of every task. It alone clones, reaps and
// kills; it knows the lease's end and starts nothing after it. It kills everything at EOF from the worker or at the end
// of the lease. One client, one thread.
//
// A task's life as seen here:
//   spawn → held (cloned into its containment, blocked on its hold pipe; nothing executed)
//         → go → executing | exec_failed
//         → leader_exited → ended (every layer of the containment proven empty)
// `go` writes one byte into the hold pipe from the calling thread. That write *is* the moment of the go, so no message
// in flight can come between the caller's last check of cutoff, lease and state and the go. If a held task is stopped,
// no exec has happened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/task.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::worker {

/// A file descriptor that is closed with its owner.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& o) noexcept : fd_(o.release()) {}
  unique_fd& operator=(unique_fd&& o) noexcept;
  ~unique_fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// The containment that the guardian can provide on this machine.
struct containment_report {
  containment level = containment::group; ///< the strongest available, or the forced one
  std::vector<std::string>
      limits; ///< sentences: what this level does not promise, and why a stronger one is unavailable
  /// The previous guardian ended by itself with no task left, or this boot had no previous guardian.
  bool earlier_ended = false;
  /// Why tasks cannot have workspaces of their conversations here, and what to configure; "" = they can.
  std::string no_workspaces = "no directory is given for them";
  bool workspaces_by_user_namespace = false; ///< those tasks are in a user namespace
};

/// The restrictions on tasks (guardian/sandbox.hpp).
struct sandbox_options {
  bool on = false;
  std::uint64_t capabilities = 0;  ///< capabilities (as bits) that a task of root keeps
  std::vector<std::string> hidden; ///< directories that tasks see as empty
  std::string workspaces;          ///< the directory of the workspaces, which exists; "" = none
};

/// The user for a task: resolved in advance, because a look-up can wait for a network.
struct task_account {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups; ///< supplementary groups
};

/// 0 = none. A limit that the task asked for is required: the task does not start without it.
struct task_limits {
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;
  std::uint32_t cpu_millis = 0; ///< thousandths of one processor
  bool memory_required = false, pids_required = false, cpu_required = false;
  bool any_required() const { return memory_required || pids_required || cpu_required; }
};

/// The workspace of a task: see guardian/workspace_view.hpp.
struct workspace_request {
  std::string name;                 ///< of its directory below the directory of all
  std::uint64_t file_limit = ~0ULL; ///< bytes that one file can have; ~0: no limit
  std::string notice;               ///< printed on stderr before the command; "" = nothing
};

struct spawn_request {
  operation_id operation;
  std::vector<std::string> command;
  std::vector<std::string> environment; ///< complete, "K=V"
  std::string directory;
  unique_fd in, out, err; ///< for a PTY all three are its slave end
  bool pty = false;       ///< make `in` the controlling terminal
  std::string stop_signal = "TERM";
  on_leader_exit leader_exit = on_leader_exit::wait;
  std::optional<std::chrono::milliseconds> lease; ///< nullopt = the worker's
  std::optional<task_account> as;                 ///< nullopt = the worker's own user
  task_limits limits;
  /// Memory files that the task inherits, from descriptor `first_secret_descriptor` on.
  std::vector<unique_fd> secrets;
  std::vector<std::string> hide;              ///< directories that this and later tasks see as empty
  std::optional<workspace_request> workspace; ///< `directory` is then as the task sees it
};

inline constexpr int first_secret_descriptor = 64;
inline constexpr std::size_t most_secrets = 16;

struct stop_request {
  operation_id operation;
  /// SIGKILL from this instant on (CLOCK_BOOTTIME). A repeat may only bring it nearer.
  boot_time kill_at;
  /// If a cooperative channel comes first (a PTY hang-up), the stop signal is sent at this instant; nullopt = now.
  std::optional<boot_time> signal_at;
};

struct task_held {
  operation_id operation;
  std::int32_t pid;
};
/// The task could not be made; no part of it exists. `message` names the step and the reason.
struct task_spawn_failed {
  operation_id operation;
  std::string message;
  bool by_worker = false; ///< independent of the task: nothing can be started here now
};
/// exec succeeded.
struct task_executing {
  operation_id operation;
};
/// exec failed after the go: code 127 (not found) or 126. `task_ended_here` follows.
struct task_exec_failed {
  operation_id operation;
  std::int32_t code;
  std::string message;
};
struct task_leader_exited {
  operation_id operation;
  exit_state exit;
};
/// The containment is empty, as proven by wait and by every layer in use. `last_resort`: the strongest signal sent
/// before it became empty.
struct task_ended_here {
  enum class force : std::uint8_t { nothing, cooperative, signalled, killed };
  operation_id operation;
  std::optional<exit_state> exit; ///< nullopt: it never executed
  force sent = force::nothing;
  proof evidence = proof::group_empty;
  std::string limit = {}; ///< a sentence: the limit that the task exceeded, if any
  /// Processes that the leader left running and that were killed at its end; the first of them.
  std::uint32_t left_total = 0;
  std::vector<process_view> left = {};
  std::optional<boot_time> ended_at = {}; ///< if its report has waited for other ends; otherwise it ended just now
};
/// A killed task that is still alive; sent about once a second from kill_at on.
struct task_still_there {
  operation_id operation;
  unproven_why why;
  std::uint32_t processes_total = 0;
  std::vector<process_view> processes;
  std::optional<boot_time> kill_again_at;
};
/// The guardian has died (crash, kill): the worker must end its session and sweep (`sweep_containment`).
struct guardian_gone {
  std::string why;
};

using guardian_event = std::variant<task_held, task_spawn_failed, task_executing, task_exec_failed, task_leader_exited,
                                    task_ended_here, task_still_there, guardian_gone>;

class guardian_client {
 public:
  struct options {
    std::string binary;                ///< path of quell-guardian
    std::string subtree;               ///< name of the worker's own cgroup directory, the same across restarts
    std::optional<containment> forced; ///< nullopt = the strongest available
    /// A file that guardian and keepers hold locked while they live (`life_lock`); empty: do not wait for earlier
    /// guardians.
    std::string lock = {};
    sandbox_options sandbox = {};
  };
  /// Starts the guardian and waits for its report (10 s at most). The guardian reports only after it has cleared what
  /// an earlier guardian left in `subtree`.
  static result<std::unique_ptr<guardian_client>> launch(options o);
  virtual ~guardian_client() = default;

  virtual const containment_report& report() const = 0;
  virtual std::int32_t pid() const = 0;
  /// Poll this for reading, then call `receive`.
  virtual int descriptor() const = 0;
  /// All pending events, without waiting.
  virtual std::vector<guardian_event> receive() = 0;

  virtual void spawn(spawn_request r) = 0;
  /// Gives a held task its go. False if the task is not, or no longer, held.
  virtual bool go(const operation_id& operation) = 0;
  virtual void stop(const stop_request& r) = 0;
  /// All leases count from `base` (CLOCK_BOOTTIME) with this default length.
  virtual void lease(boot_time base, std::chrono::milliseconds length) = 0;
  /// Asks for the present processes of a task (at most 20; the answer is an event task_still_there with why =
  /// in_grace).
  virtual void look(const operation_id& operation) = 0;
};

/// Kills everything in the subtree and removes it, then kills every child of this process with its descendants: a
/// worker is a subreaper, so processes that lost keeper and guardian become its children. For a worker whose guardian
/// died. `lock` as in the options. Returns the number of processes killed, or a fault.
result<std::size_t> sweep_containment(const std::string& subtree, const std::string& lock = {});

/// The guarantees that this machine can and cannot give, found without a running worker (for `quell doctor`, run as the
/// calling user).
containment_report probe_containment();

} // namespace quell::worker
