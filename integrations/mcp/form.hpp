// What a server asks a human for (elicitation): a flat form, as a restricted JSON schema. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "protocol/fault.hpp"

namespace quell::integrations {

/// The values for `form` with the defaults of those that are left out (SEP-1034): JSON text of an object. `form` was
/// checked by `wrong_form`; `values`: JSON text, "" = none are given. Fault `invalid_values`, whose pointer is that of
/// the field within the values: not of the type, out of bounds, none of the choices, unknown, or required and missing.
/// Patterns are the server's to judge: they are its own, and may take for ever.
result<std::string> filled_form(const std::string& form, const std::string& values);

namespace mcp {
/// Why a human cannot be asked for this: a sentence without its end. Nothing: it is a form.
std::optional<std::string> wrong_form(const nlohmann::json& schema);
} // namespace mcp

} // namespace quell::integrations
