// Reads JSON from untrusted sources.
#include "integrations/models/json.hpp"

#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "protocol/json_nesting.hpp"

namespace quell::integrations {
namespace {

/// The value of four hex digits at `at`, or -1.
int hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Some servers split a character and send each half as its own escape, which is not valid JSON.
std::string without_lone_surrogates(std::string text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '\\') continue;
    const int value = text[i + 1] == 'u' ? hex4(text, i + 2) : -1;
    if (value < 0xD800 || value > 0xDFFF) {
      ++i;
      continue;
    }
    const bool paired = value < 0xDC00 && i + 11 < text.size() && text[i + 6] == '\\' && text[i + 7] == 'u' &&
                        hex4(text, i + 8) >= 0xDC00 && hex4(text, i + 8) <= 0xDFFF;
    if (!paired) text.replace(i + 2, 4, "FFFD");
    i += paired ? 11 : 5;
  }
  return text;
}

const json nothing;

} // namespace

std::optional<json> parse_json(std::string_view text) {
  // The library parses any depth, but writes and compares recursively: a deep value would overflow the stack later.
  if (json_nesting(text) > limits::json_depth) return std::nullopt;
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) value = json::parse(without_lone_surrogates(repaired(text)), nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

std::string dump_json(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

const json& member(const json& value, const char* name) {
  if (!value.is_object()) return nothing;
  const auto found = value.find(name);
  return found == value.end() ? nothing : *found;
}

std::string text_member(const json& value, const char* name) {
  const json& found = member(value, name);
  return found.is_string() ? found.get_ref<const std::string&>() : std::string();
}

std::uint64_t count_member(const json& value, const char* name) {
  const json& found = member(value, name);
  return found.is_number_unsigned() ? found.get<std::uint64_t>() : 0;
}

json call_input(const std::string& input) {
  if (blank(input)) return json::object();
  if (auto value = parse_json(input); value && value->is_object()) return std::move(*value);
  return json{{"invalid_input", repaired(input)}};
}

} // namespace quell::integrations
