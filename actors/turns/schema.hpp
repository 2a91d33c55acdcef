// Sanitises foreign JSON Schemas and checks values against them. For the .cpp files beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quell::controller::turns {

/// A schema that is at most as strict as `schema`, and cheap to check on any value. References are inlined (a recursive
/// one becomes "anything" below some depth). Patterns, formats, `not`, uniqueness and every slow or unknown keyword are
/// dropped. `oneOf` becomes `anyOf`. A schema that is too large or invalid becomes "anything".
nlohmann::json sanitized_schema(const nlohmann::json& schema);

/// The error in `value`, as a sentence that begins with the field; "" = valid. An unreadable schema allows anything.
/// `schema`: sanitised.
std::string wrong_by_schema(const nlohmann::json& schema, const nlohmann::json& value);
/// The same with the JSON pointer of that field, which is cut if it is long.
struct schema_error {
  std::string sentence, pointer;
};
schema_error error_by_schema(const nlohmann::json& schema, const nlohmann::json& value);

} // namespace quell::controller::turns
