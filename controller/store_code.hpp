// Why the store did not write or read something: `code` of its faults. The core decides by it whether a batch may be
// tried again; the log and `quelld --check` show its text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/fault.hpp"

namespace quell {

enum class store_code : std::uint8_t {
  disk_full,        ///< nothing of the batch was written
  disk_error,       ///< unknown what was written
  database_locked,  ///< by another process
  database_corrupt, ///< the file is damaged, or another program's
  read_only,        ///< the directory or a file cannot be written by this user
  state_in_use,     ///< by another quelld
  newer_schema,     ///< a newer quelld wrote it
  store_mismatch,   ///< a row that the batch changes is not there
  store_error,      ///< anything else
  too_slow,         ///< a read has used up its budget
  abandoned,        ///< nobody waits for the read any more
  too_many_lists    ///< a read was not begun, because others of its caller wait
};

struct store_code_row {
  store_code code;
  std::string_view text;
};

/// All codes, in the enumerators' order.
inline constexpr auto store_codes = std::to_array<store_code_row>({
    {store_code::disk_full, "disk_full"},
    {store_code::disk_error, "disk_error"},
    {store_code::database_locked, "database_locked"},
    {store_code::database_corrupt, "database_corrupt"},
    {store_code::read_only, "read_only"},
    {store_code::state_in_use, "state_in_use"},
    {store_code::newer_schema, "newer_schema"},
    {store_code::store_mismatch, "store_mismatch"},
    {store_code::store_error, "store_error"},
    {store_code::too_slow, "too_slow"},
    {store_code::abandoned, "abandoned"},
    {store_code::too_many_lists, "too_many_lists"},
});

constexpr std::string_view name_of(store_code code) { return store_codes[static_cast<std::size_t>(code)].text; }

namespace store_code_checks {
constexpr bool are_complete() {
  for (std::size_t i = 0; i < store_codes.size(); ++i)
    if (store_codes[i].code != static_cast<store_code>(i)) return false;
  return store_codes.size() == static_cast<std::size_t>(store_code::too_many_lists) + 1;
}
static_assert(are_complete());
} // namespace store_code_checks

inline fault failure_of(store_code code, std::string detail) {
  return {std::string(name_of(code)), std::move(detail), {}};
}
inline tl::unexpected<fault> failure(store_code code, std::string detail) {
  return tl::unexpected<fault>(failure_of(code, std::move(detail)));
}
inline bool has_code(const fault& f, store_code code) { return f.code == name_of(code); }

} // namespace quell
