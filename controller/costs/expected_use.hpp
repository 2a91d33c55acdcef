// The least that a model call will use, written into its row when it is let in: all that is known about it if this
// process dies before its end. Pure.
#pragma once

#include <optional>
#include <string>

#include "protocol/conversation.hpp"

namespace quell::controller::costs {

struct expected_use {
  std::string agent;
  model_usage usage; ///< quell's own estimate of the input, with its price
};

/// As the `kind_data` of the call's operation: a JSON object.
std::string text_of_expected(const expected_use& what);
/// Nullopt for any other text.
std::optional<expected_use> read_expected(const std::string& text);

} // namespace quell::controller::costs
