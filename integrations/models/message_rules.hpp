// The providers' rules for messages, strictly read: what of a request they would refuse, without asking them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "integrations/models/model.hpp"

namespace quell::integrations {

/// The first rule that this request body breaks, in words and with its place; nothing if it keeps all. Stricter than
/// any server: sides alternate, nothing is empty, every call is answered exactly once, at once and in order. `whose` is
/// anthropic or openai.
std::optional<std::string> broken_rule(provider whose, std::string_view request_json);

} // namespace quell::integrations
