// JSON Schema of strangers made harmless, and a value judged against it. For the .cpp files beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quell::controller::turns {

/// A schema that is at most as strict as `schema`, and cheap on any value: references are put in place (a recursive
/// one becomes "anything" below some levels), patterns, formats, `not`, uniqueness and whatever else may take long or
/// is not known are left out, `oneOf` is read as `anyOf`. What is too large or no schema becomes "anything".
nlohmann::json harmless_schema(const nlohmann::json& schema);

/// What is wrong with `value`: "" = nothing. A sentence that begins with the field. A schema that cannot be read allows
/// anything. `schema`: harmless.
std::string wrong_by_schema(const nlohmann::json& schema, const nlohmann::json& value);

} // namespace quell::controller::turns
