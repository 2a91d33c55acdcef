// The specification of a task and its outcome: plain values shared by the wire, the store and the worker.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell {

/// A process tree to run (SURFACE 2, `task` of a create). Strings are bytes as given; JSON edges demand UTF-8.
struct task_spec {
  std::vector<std::string> command;       ///< argv; at least one, not empty; at most 128 KiB in all
  std::optional<std::string> cwd;         ///< nullopt: the worker's work_dir
  std::map<std::string, std::string> env; ///< added to the worker's base environment; the values are secrets
  bool pty = false;
  bool stdin_open = false;               ///< false: /dev/null
  std::string stop_signal = "TERM";      ///< TERM INT HUP QUIT USR1 USR2 (without SIG)
  std::optional<std::string> worker;     ///< the one worker it must run on
  std::map<std::string, std::string> on; ///< labels that the worker must have
  std::uint32_t slots = 1;               ///< may be 0
  on_leader_exit leader_exit = on_leader_exit::wait;
  std::optional<milliseconds> lease;            ///< nullopt: the worker's; at most 7 days
  std::optional<containment> least_containment; ///< nullopt: the configured minimum
  std::optional<std::string>
      default_cwd; ///< the caller's directory: used if `cwd` is not set, on the caller's host, if it exists there
  std::optional<std::string> default_cwd_host; ///< the caller's host name, to compare with the worker's label `host`
  std::optional<std::string> user;             ///< the user as whom it runs; nullopt: the worker's own
  bool cooperative_stop = false; ///< a stop first uses its own protocol (ACP); the signal follows at half the grace
  // Limits of the whole tree; 0: the worker's. A worker's own limit is never exceeded, and the worker refuses a limit
  // that it cannot enforce:
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;                     ///< processes and threads
  std::uint32_t cpu_millis = 0;               ///< thousandths of one processor
  std::map<std::string, std::string> secrets; ///< name → contents of a file; sealed in the controller; "" = lost

  template <class Inspector>
  friend auto inspect(Inspector& f, task_spec& x) {
    return f(x.command, x.cwd, x.env, x.pty, x.stdin_open, x.stop_signal, x.worker, x.on, x.slots, x.leader_exit,
             x.lease, x.least_containment, x.default_cwd, x.default_cwd_host, x.user, x.cooperative_stop,
             x.memory_bytes, x.pids, x.cpu_millis, x.secrets);
  }
  friend bool operator==(const task_spec&, const task_spec&) = default;
};

/// The end of a leader process: exactly one of the two is set. `signal` without "SIG": "KILL".
struct exit_state {
  std::optional<std::int32_t> code;
  std::optional<std::string> signal;

  template <class Inspector>
  friend auto inspect(Inspector& f, exit_state& x) {
    return f(x.code, x.signal);
  }
  friend bool operator==(const exit_state&, const exit_state&) = default;
};

struct output_counts {
  std::uint64_t stdout_bytes = 0; ///< bytes that the task has written so far, dropped bytes included
  std::uint64_t stderr_bytes = 0;
  std::uint64_t dropped_bytes = 0; ///< of both streams

  template <class Inspector>
  friend auto inspect(Inspector& f, output_counts& x) {
    return f(x.stdout_bytes, x.stderr_bytes, x.dropped_bytes);
  }
  friend bool operator==(const output_counts&, const output_counts&) = default;
};

struct process_view {
  std::int32_t pid = 0;
  std::string state;   ///< one letter as in /proc/PID/stat
  std::string command; ///< at most 200 bytes

  template <class Inspector>
  friend auto inspect(Inspector& f, process_view& x) {
    return f(x.pid, x.state, x.command);
  }
  friend bool operator==(const process_view&, const process_view&) = default;
};

} // namespace quell
