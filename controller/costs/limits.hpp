// The limits of what model calls may use, for a turn with everything below it and for a day. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/conversation.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::costs {

/// Input and output. Tokens that were read from a cache or written to it are part of the input.
inline std::uint64_t tokens_of(const model_usage& used) { return sum_of_use(used.input_tokens, used.output_tokens); }

/// Of a turn with its sub-agents. 0 = no limit.
struct tree_limits {
  std::uint64_t cost_nanos = 0; ///< in billionths of the currency of the prices
  std::uint64_t tokens = 0;
  std::uint64_t model_calls = 0;
  friend bool operator==(const tree_limits&, const tree_limits&) = default;
};

/// For whom a budget of a day counts.
enum class budget_of : std::uint8_t {
  all,    ///< everybody in its scope together
  author, ///< each author in its scope
  child,  ///< each scope directly below its scope, with everything in it
};

/// The most that may be used in a scope and below it on one day of UTC. 0 = no limit.
struct day_budget {
  std::optional<scope_path> scope; ///< absent: everywhere
  budget_of each = budget_of::all;
  std::uint64_t cost_nanos = 0;
  std::uint64_t tokens = 0;
  friend bool operator==(const day_budget&, const day_budget&) = default;
};

struct cost_settings {
  std::vector<day_budget> budgets;
  std::int64_t keep_days = 400; ///< rows of older days are dropped; 0 = kept for ever
  friend bool operator==(const cost_settings&, const cost_settings&) = default;
};

/// `1.25`: an amount without trailing zeros, at most six decimals.
std::string amount_text(std::uint64_t nanos);

} // namespace quell::controller::costs
