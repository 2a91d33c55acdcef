// Why a model call, or the turn around it, failed: one list with the names that clients see in `error.code`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/fault.hpp"

namespace quell {

enum class failure_code : std::uint8_t {
  model_overloaded,  ///< too many requests there (429, 503, 529), and the retries are used up
  model_unavailable, ///< no connection, a lost connection before the answer, or a server error
  model_refused,     ///< it refuses (4xx) because of key, model name or request; or the settings are wrong
  model_timeout,     ///< one of the time limits
  model_cut,         ///< the answer broke off before its end
  model_broken,      ///< the answer is not a valid stream, or too large
  context_overflow,  ///< the conversation is longer than the model's context
  budget,            ///< the agent's budget is used up
  repetition,        ///< the model made the same call again and again
  too_many_calls,    ///< in one answer
  answer_too_large
};

inline constexpr auto failure_code_names = std::to_array<std::string_view>(
    {"model_overloaded", "model_unavailable", "model_refused", "model_timeout", "model_cut", "model_broken",
     "context_overflow", "budget", "repetition", "too_many_calls", "answer_too_large"});
static_assert(failure_code_names.size() == static_cast<std::size_t>(failure_code::answer_too_large) + 1);

constexpr std::string_view name_of(failure_code code) { return failure_code_names[static_cast<std::size_t>(code)]; }

inline fault failure_of(failure_code code, std::string detail) {
  return {std::string(name_of(code)), std::move(detail), {}};
}

} // namespace quell
