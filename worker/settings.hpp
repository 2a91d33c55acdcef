// The worker's configuration: the environment overrides the file, and flags override both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::worker {

/// The settings of one source; nullopt = not set.
struct settings_layer {
  std::optional<std::string> name;
  std::optional<std::uint32_t> slots;
  std::map<std::string, std::string> labels;
  std::optional<std::string> work_dir;
  std::optional<containment> least; ///< the forced level
  std::map<std::string, std::string> env;
  std::optional<std::vector<std::string>> users; ///< users as whom tasks can run, beside the worker's own
  std::optional<std::string> user;               ///< for tasks that name no user; the worker's own then needs `users`
  std::optional<bool> sandbox;                   ///< absent: on
  std::optional<std::vector<std::string>> capabilities; ///< capabilities that a task of root keeps in the sandbox
  std::optional<std::vector<std::string>> hide;         ///< directories that tasks in the sandbox see as empty
  std::optional<std::string> workspaces; ///< directory of the workspaces of conversations; absent: below the state
  std::optional<std::uint64_t> workspaces_per_guild; ///< bytes of one guild's workspaces together; 0: no limit
  std::optional<std::uint64_t> memory_bytes;         ///< maximum per task; 0: no limit
  std::optional<std::uint32_t> pids;                 ///< maximum per task
  std::optional<std::uint32_t> cpu_millis;           ///< maximum per task, thousandths of a processor
  std::optional<std::string> join;

  friend bool operator==(const settings_layer&, const settings_layer&) = default;
};

/// TOML: `[worker] name, slots, labels, work_dir, containment, env, users, user, sandbox, capabilities, hide,
/// workspaces, workspaces_per_guild, memory, pids, cpu`, `[controller] join`. Fault `bad_config` names file, line and
/// the nearest known key of an unknown one.
result<settings_layer> settings_from_toml(const std::string& text, const std::string& file);
/// As `settings_from_toml`, from a file of at most 1 MiB.
result<settings_layer> settings_from_file(const std::string& file);
/// `QUELL_WORKER_<SECTION>_<KEY>`; labels and env as `a=b,c=d`, lists as `a,b`. Fault `bad_config` for an unknown one.
result<settings_layer> settings_from_environment(const std::map<std::string, std::string>& environment);

/// `over` takes precedence; labels and env are merged key by key.
settings_layer merged(settings_layer under, const settings_layer& over);

/// `k=v`, or fault `bad_config`.
result<std::pair<std::string, std::string>> parse_pair(const std::string& text, const std::string& what);
/// 1 to 100,000, or fault `bad_config`.
result<std::uint32_t> parse_slots(std::int64_t value);
result<containment> parse_containment(const std::string& text);

/// Fills in the defaults for the restrictions and limits of tasks. With the sandbox off only limits that are set apply.
void fill_in_sandbox(settings_layer& s);

/// The worker's configuration as TOML with defaults filled in; the join line (a secret) is not shown.
std::string settings_as_toml(const settings_layer& s);

} // namespace quell::worker
