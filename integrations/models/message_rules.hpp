// The providers' rules for messages, strictly applied: finds what they would refuse without asking them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "integrations/models/model.hpp"

namespace quell::integrations {

/// The first rule that this request body breaks, described with its place; nullopt if it breaks none. Stricter than any
/// server: sides alternate, nothing is empty, every call is answered exactly once, at once and in order. `whose` is
/// anthropic or openai.
std::optional<std::string> broken_rule(provider whose, std::string_view request_json);

} // namespace quell::integrations
