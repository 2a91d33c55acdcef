// The worker's configuration: file, then environment over it, then flags over both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::worker {

/// What one source says; nullopt = it does not say.
struct settings_layer {
  std::optional<std::string> name;
  std::optional<std::uint32_t> slots;
  std::map<std::string, std::string> labels;
  std::optional<std::string> work_dir;
  std::optional<containment> least; ///< the forced level
  std::map<std::string, std::string> env;
  std::optional<std::vector<std::string>> users; ///< that tasks may run as, beside the worker's own
  std::optional<std::string> user;               ///< of tasks that ask for none; the worker's own then needs `users`
  std::optional<bool> sandbox;                   ///< absent: on
  std::optional<std::vector<std::string>> capabilities; ///< that a task of root keeps in the sandbox
  std::optional<std::vector<std::string>> hide;         ///< directories that tasks in the sandbox see as empty
  std::optional<std::uint64_t> memory_bytes;            ///< most of each task; 0: no limit
  std::optional<std::uint32_t> pids;                    ///< likewise
  std::optional<std::uint32_t> cpu_millis;              ///< likewise, thousandths of a processor
  std::optional<std::string> join;

  friend bool operator==(const settings_layer&, const settings_layer&) = default;
};

/// TOML: `[worker] name, slots, labels, work_dir, containment, env, users, user, sandbox, capabilities, hide, memory,
/// pids, cpu`, `[controller] join`. Fault `bad_config`
/// names file, line and the nearest known key of an unknown one.
result<settings_layer> settings_from_toml(const std::string& text, const std::string& file);
/// The same from a file of at most 1 MiB.
result<settings_layer> settings_from_file(const std::string& file);
/// `QUELL_WORKER_<SECTION>_<KEY>`; labels and env as `a=b,c=d`, lists as `a,b`. Fault `bad_config` for an unknown one.
result<settings_layer> settings_from_environment(const std::map<std::string, std::string>& environment);

/// `over` wins; labels and env are merged key by key.
settings_layer merged(settings_layer under, const settings_layer& over);

/// `k=v`, or fault `bad_config`.
result<std::pair<std::string, std::string>> parse_pair(const std::string& text, const std::string& what);
/// 1 to 100,000, or fault `bad_config`.
result<std::uint32_t> parse_slots(std::int64_t value);
result<containment> parse_containment(const std::string& text);

/// Fills in what tasks are kept from and their limits. With the sandbox off: no limits but those that are set.
void fill_in_sandbox(settings_layer& s);

/// The worker's configuration as TOML with defaults filled in; the join line (a secret) is not shown.
std::string settings_as_toml(const settings_layer& s);

} // namespace quell::worker
