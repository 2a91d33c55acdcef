// The use of model calls, as plain values: the rows of the tables `cost` and `turn_cost`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/conversation.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/time.hpp"

namespace quell::records {

/// A day of UTC, as the number of days since 1970-01-01.
using utc_day = std::int64_t;

/// Every day is above it: nothing is dropped.
inline constexpr utc_day no_day = std::numeric_limits<utc_day>::min();

/// The use of the calls of one model on one day in one scope, for one author and one agent.
struct cost_record {
  utc_day day = 0;
  scope_path scope;
  std::string author;
  std::string agent;
  std::string model; ///< its name in the configuration
  std::uint64_t calls = 0;
  std::uint64_t estimated = 0; ///< of the calls, those whose usage is partly estimated
  model_usage usage;
  friend bool operator==(const cost_record&, const cost_record&) = default;
};

/// The use of a live turn with everything below it.
struct turn_cost_record {
  operation_id turn;
  std::uint64_t calls = 0; ///< model calls that were begun
  model_usage usage;       ///< of those that have ended
  friend bool operator==(const turn_cost_record&, const turn_cost_record&) = default;
};

/// Groups of a list of costs.
enum class cost_group : std::uint8_t { scope, author, day, agent, model };

struct cost_filter {
  std::optional<scope_path> scope; ///< it and everything below
  utc_day from = no_day;           ///< inclusive
  utc_day to = std::numeric_limits<utc_day>::max();
  cost_group by = cost_group::day;
  std::optional<std::string> after; ///< the key of the last row of the page before
  std::uint32_t limit = 50;
};

/// A row of such a list: the sum over everything with this key.
struct cost_row {
  std::string key; ///< a scope, author, agent or model; of days the date, such as 2026-11-23
  std::uint64_t calls = 0;
  std::uint64_t estimated = 0;
  model_usage usage;
  friend bool operator==(const cost_row&, const cost_row&) = default;
};

struct cost_page {
  std::vector<cost_row> rows; ///< by key, ascending; days too
  cost_row total;             ///< over all rows, also those of other pages; without key
};

} // namespace quell::records
