// A guardian with real tasks for tests: starts them, waits for their events, and looks for survivors in /proc.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/guardian/client.hpp"

namespace quell::worker::test {

using namespace std::chrono_literals;

/// The guardian under test: QUELL_TEST_GUARDIAN, else the one of this build.
std::string guardian_program();
/// The levels that this machine has, weakest first. Fails the test run if there are none.
const std::vector<containment>& levels_here();

boot_time now();
/// A number that occurs in no other process's command line: `sleep 1000.<it>` can be found by it.
std::string fresh_mark();
/// Pids of the living processes (not zombies) with `mark` in their command line, without this process and its own
/// helpers.
std::vector<int> living(const std::string& mark);
/// Waits until `condition`; at the deadline the test fails and names the awaited event.
void eventually(const std::string& what, const std::function<bool()>& condition, std::chrono::milliseconds limit = 60s);
/// Zombies whose parent is this process.
int own_zombies();
/// The cgroup directories of a subtree: empty when it is gone or holds none.
std::vector<std::string> cgroups_of(const std::string& subtree);
bool subtree_exists(const std::string& subtree);
/// The life lock of a ward's guardian.
std::string lock_of(const std::string& subtree);
std::string file_text(const std::string& path);
/// Runs `work` in a forked process, which always ends after it: a failed check must never continue with the other tests
/// there.
pid_t in_another_process(const std::function<void()>& work);

struct task_story {
  std::optional<std::int32_t> pid;
  bool executing = false;
  std::optional<std::string> spawn_failed;
  std::optional<task_exec_failed> exec_failed;
  std::optional<exit_state> left;
  std::optional<task_ended_here> ended;
  std::vector<task_still_there> still;
  boot_time ended_at;
};

struct ask {
  std::vector<std::string> command;
  std::vector<std::string> environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  std::string directory = "/";
  std::string stop_signal = "TERM";
  on_leader_exit leader_exit = on_leader_exit::wait;
  std::optional<std::chrono::milliseconds> lease = std::nullopt;
  int pty_slave = -1; ///< a terminal's slave end: all three streams
  int out = -1;       ///< standard output; -1 = /dev/null
};

class ward {
 public:
  explicit ward(containment level, bool with_lease = true, std::string subtree = {});

  /// Asks for a task; it stays held.
  operation_id spawn(const ask& what);
  /// Spawns, waits for held, lets it go and waits until it executes.
  operation_id run(const ask& what);
  operation_id shell(const std::string& script, const std::string& mark = "sh");
  void await_held(const operation_id& id);
  bool go(const operation_id& id) { return client->go(id); }
  void stop(const operation_id& id, std::chrono::milliseconds grace,
            std::optional<std::chrono::milliseconds> signal_after = {});
  /// Waits for the end (or the failed spawn).
  const task_story& end_of(const operation_id& id, std::chrono::milliseconds limit = 60s);
  /// Reads events until `condition`.
  void until(const std::string& what, const std::function<bool()>& condition, std::chrono::milliseconds limit = 60s);
  void hear(int wait_ms);
  /// Ends the guardian and checks that nothing is left of it.
  void close();

  std::string subtree;
  std::unique_ptr<guardian_client> client;
  std::map<operation_id, task_story> stories;
  std::optional<std::string> gone;
};

} // namespace quell::worker::test
