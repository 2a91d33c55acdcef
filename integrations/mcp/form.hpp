// The form that a server asks a human to fill in (elicitation): flat, as a restricted JSON schema. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "protocol/fault.hpp"

namespace quell::integrations {

/// The values for `form`, with the defaults of omitted fields filled in (SEP-1034): JSON text of an object. `form` must
/// have passed `wrong_form`; `values`: JSON text, "" = none given. Fault `invalid_values` with the pointer of the field
/// within the values: wrong type, out of bounds, not one of the choices, unknown, or required and missing. Patterns are
/// left to the server: they are its own, and matching one could take for ever.
result<std::string> filled_form(const std::string& form, const std::string& values);

namespace mcp {
/// The reason why a human cannot be asked for this, as a sentence without its full stop; nullopt: the form is valid.
std::optional<std::string> wrong_form(const nlohmann::json& schema);
} // namespace mcp

} // namespace quell::integrations
