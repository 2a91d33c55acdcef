// The least that the next request to a model will cost, before it is written. Pure.
#pragma once

#include <string>
#include <string_view>

#include "integrations/models/model.hpp"
#include "protocol/conversation.hpp"

namespace quell::controller::turns {

/// As the `kind_data` of the call's operation: an input of `tokens`, or of as much as the model's context holds.
std::string expected_use_of(const std::string& agent, const integrations::model_settings& model, std::size_t tokens);

} // namespace quell::controller::turns
