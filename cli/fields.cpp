// Members of an answer, read defensively.
#include "cli/fields.hpp"

#include <nlohmann/json.hpp>

#include "cli/instant.hpp"

namespace quell::cli {

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

std::int64_t whole_number(const nlohmann::json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return 0;
  const double number = value.get<double>();
  constexpr double most = 9.2e18; // a conversion beyond the type's range has no meaning at all
  return number > -most && number < most ? static_cast<std::int64_t>(number) : 0;
}

std::int64_t number_of(const nlohmann::json& object, const char* name) { return whole_number(member(object, name)); }

std::optional<wall_time> instant_of(const nlohmann::json& object, const char* name) {
  return parse_instant(text_of(object, name));
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte < 0x20 || byte == 0x7f) out[i] = '?';
    // C1 controls (U+0080 to U+009F) are C2 80 to C2 9F.
    if (byte == 0xc2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xa0) out[i] = out[i + 1] = '?';
  }
  return out;
}

std::string to_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::cli
