// How much a workspace, and all workspaces of one guild together, may hold, and the words for it. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "worker/workspaces.hpp"

namespace quell::worker {

/// The bytes of what cannot be measured.
inline constexpr std::uint64_t endless = 1ULL << 62;
// A full disk block at the end of a file, folders, or several files that grow at once do not justify ending a task.
inline constexpr std::uint64_t leeway_bytes = 1 << 20;
inline constexpr std::uint64_t leeway_share = 16, leeway_entries = 64;

inline std::string with_unit(std::uint64_t bytes) {
  if (bytes >= endless) return "folders that cannot be measured";
  if (bytes >= 10 << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

/// "this workspace holds 300 MiB, and its quota is 256 MiB"
inline std::string too_much(const workspace_use& used, std::uint64_t quota) {
  if (used.entries <= most_entries(quota))
    return "this workspace holds " + with_unit(used.bytes) + ", and its quota is " + with_unit(quota);
  return "this workspace holds more than " + std::to_string(most_entries(quota)) +
         " files and folders, which is the most that its quota of " + with_unit(quota) + " allows";
}

inline bool is_full(const workspace_use& used, std::uint64_t quota) {
  return used.bytes >= quota || used.entries > most_entries(quota);
}

inline bool is_far_beyond(std::uint64_t bytes, std::uint64_t most) {
  return bytes > most + most / leeway_share + leeway_bytes;
}

/// Beyond what a task that stays within its limits can come to.
inline bool is_far_beyond(const workspace_use& used, std::uint64_t quota) {
  return is_far_beyond(used.bytes, quota) || used.entries > most_entries(quota) + leeway_entries;
}

/// Where counting ends.
inline std::uint64_t most_counted(std::uint64_t quota) { return 2 * most_entries(quota); }

/// The bytes with which a workspace counts for its guild. Where counting ended early, nobody knows how many bytes are
/// behind the files that were counted: it counts as its whole quota. `quota` 0: it has none.
inline std::uint64_t charged_bytes(const workspace_use& used, std::uint64_t quota) {
  return quota > 0 && used.entries > most_counted(quota) ? std::max(used.bytes, quota) : used.bytes;
}

/// The start of the names of all workspaces of one guild (the first two segments of a scope), as `workspace_name` gives
/// them: `w-discord%g1` of `w-discord%g1%c1~MARK`.
inline std::string_view guild_of_workspace(std::string_view name) {
  const auto scope = name.substr(0, name.rfind('~'));
  const auto first = scope.find('%');
  return first == std::string_view::npos ? scope : scope.substr(0, scope.find('%', first + 1));
}

/// "the workspaces of discord/g1 hold 12 GiB together, …"
inline std::string guild_holds_too_much(std::string_view guild, std::uint64_t bytes, std::uint64_t most) {
  std::string scope(guild.starts_with("w-") ? guild.substr(2) : guild);
  std::replace(scope.begin(), scope.end(), '%', '/');
  return "the workspaces of " + scope + " on this worker hold " + with_unit(bytes) +
         " together, and worker.workspaces_per_guild allows " + with_unit(most);
}

} // namespace quell::worker
