// Elicitation forms: text, numbers, yes or no, one choice or several, without nesting.
#include "integrations/mcp/form.hpp"

#include <algorithm>
#include <cmath>
#include <regex>
#include <vector>

#include "integrations/mcp/limits.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations {
namespace {

std::string quoted_name(const std::string& name) { return "\"" + excerpt(name, 80) + "\""; }

/// The choices that this schema offers; nullopt: any text is allowed.
std::optional<std::vector<std::string>> choices_of(const json& schema) {
  std::vector<std::string> found;
  if (const json& all = member(schema, "enum"); all.is_array()) {
    for (const json& one : all)
      if (one.is_string()) found.push_back(one.get<std::string>());
    return found;
  }
  for (const char* name : {"oneOf", "anyOf"}) {
    const json& all = member(schema, name);
    if (!all.is_array()) continue;
    for (const json& one : all)
      if (const json& text = member(one, "const"); text.is_string()) found.push_back(text.get<std::string>());
    return found;
  }
  return std::nullopt;
}

std::optional<std::string> wrong_field(const std::string& name, const json& field) {
  const std::string who = "its field " + quoted_name(name) + " ";
  if (name.empty() || name.size() > mcp_limits::form_name_bytes)
    return who + "has a name that is not 1 to " + std::to_string(mcp_limits::form_name_bytes) + " bytes";
  if (!field.is_object()) return who + "is not a schema";
  const std::string type = text_member(field, "type");
  const bool is_list = type == "array";
  if (!is_list && type != "string" && type != "number" && type != "integer" && type != "boolean")
    return who + "is not text, number, yes or no, or choice";
  const auto choices = choices_of(is_list ? member(field, "items") : field);
  if (is_list && !choices) return who + "is a list of anything, not of choices";
  if (choices && (choices->empty() || choices->size() > mcp_limits::form_choices))
    return who + "has no choices, or more than " + std::to_string(mcp_limits::form_choices);
  return std::nullopt;
}

std::string choices_text(const std::vector<std::string>& choices) {
  std::string all;
  for (const auto& one : choices) {
    if (all.size() > 300) return all + ", …";
    all += (all.empty() ? "" : ", ") + quoted_name(one);
  }
  return all;
}

std::string bound_text(const json& bound) { return excerpt(dump_json(bound), 40); }

std::string wrong_length(std::uint64_t length, const json& field, const char* least, const char* most,
                         const std::string& unit) {
  if (const json& bound = member(field, least); bound.is_number() && static_cast<double>(length) < bound.get<double>())
    return "must have at least " + bound_text(bound) + " " + unit;
  if (const json& bound = member(field, most); bound.is_number() && static_cast<double>(length) > bound.get<double>())
    return "must have at most " + bound_text(bound) + " " + unit;
  return {};
}

std::string wrong_format(const std::string& text, const std::string& format) {
  static const std::regex email(R"([^\s@]+@[^\s@]+)"), uri(R"([A-Za-z][A-Za-z0-9+.\-]*:\S+)"),
      date(R"(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]))"),
      instant(
          R"(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?([Zz]|[+\-]\d\d:\d\d))");
  constexpr std::size_t most = 2048; // bytes; the matcher's stack can take any text up to this length
  const auto fits = [&](const std::regex& what) { return text.size() <= most && std::regex_match(text, what); };
  if (format == "email" && !fits(email)) return "must be an email address";
  if (format == "uri" && !fits(uri)) return "must be a URI, like https://host/path";
  if (format == "date" && !fits(date)) return "must be a date, like 2026-07-28";
  if (format == "date-time" && !fits(instant)) return "must be a time with its zone, like 2026-07-28T12:00:00Z";
  return {};
}

std::string wrong_text(const json& field, const json& value) {
  if (!value.is_string()) return "must be a text";
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > mcp_limits::form_text_bytes)
    return "must be at most " + std::to_string(mcp_limits::form_text_bytes) + " bytes";
  if (!is_utf8(text)) return "must be UTF-8";
  if (const auto choices = choices_of(field))
    return std::find(choices->begin(), choices->end(), text) == choices->end()
               ? "must be one of " + choices_text(*choices)
               : std::string();
  auto wrong = wrong_length(code_points(text), field, "minLength", "maxLength", "characters");
  return wrong.empty() ? wrong_format(text, text_member(field, "format")) : wrong;
}

std::string wrong_number(const json& field, const json& value, bool is_whole) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    return is_whole ? "must be a whole number" : "must be a number";
  const double number = value.get<double>();
  if (is_whole && !value.is_number_integer() && std::floor(number) != number) return "must be a whole number";
  if (const json& least = member(field, "minimum"); least.is_number() && number < least.get<double>())
    return "must be at least " + bound_text(least);
  if (const json& most = member(field, "maximum"); most.is_number() && number > most.get<double>())
    return "must be at most " + bound_text(most);
  return {};
}

std::string wrong_list(const json& field, const json& value) {
  const auto choices = choices_of(member(field, "items")).value_or(std::vector<std::string>());
  if (!value.is_array()) return "must be a list of some of " + choices_text(choices);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_choice = value[i].is_string() && std::find(choices.begin(), choices.end(), value[i]) != choices.end();
    if (!is_choice) return "must hold nothing but " + choices_text(choices);
    if (std::find(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(i), value[i]) !=
        value.begin() + static_cast<std::ptrdiff_t>(i))
      return "must hold each of its choices once";
  }
  return wrong_length(value.size(), field, "minItems", "maxItems", "entries");
}

/// The error in this value; "" = none.
std::string wrong_value(const json& field, const json& value) {
  const std::string type = text_member(field, "type");
  if (type == "boolean") return value.is_boolean() ? std::string() : "must be true or false";
  if (type == "number" || type == "integer") return wrong_number(field, value, type == "integer");
  return type == "array" ? wrong_list(field, value) : wrong_text(field, value);
}

std::string pointer_of(const std::string& name) {
  std::string pointer = "/";
  for (const char c : name) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return pointer;
}

std::string names_text(const json& fields) {
  std::string all;
  for (const auto& [name, ignored] : fields.items())
    if (all.size() < 300) all += (all.empty() ? "" : ", ") + quoted_name(name);
  return all.empty() ? "none" : all;
}

} // namespace

namespace mcp {

std::optional<std::string> wrong_form(const json& schema) {
  if (text_member(schema, "type") != "object") return "it asks for no form: its schema is not of type object";
  if (dump_json(schema).size() > mcp_limits::form_bytes)
    return "its form is longer than " + std::to_string(mcp_limits::form_bytes / 1024) + " KiB";
  const json& fields = member(schema, "properties");
  if (fields.is_null()) return std::nullopt;
  if (!fields.is_object() || fields.size() > mcp_limits::form_fields)
    return "its form has more than " + std::to_string(mcp_limits::form_fields) + " fields, or none that can be read";
  for (const auto& [name, field] : fields.items())
    if (auto wrong = wrong_field(name, field)) return wrong;
  const json& required = member(schema, "required");
  if (required.is_null()) return std::nullopt;
  const bool is_good = required.is_array() && std::all_of(required.begin(), required.end(), [&](const json& name) {
                         return name.is_string() && fields.contains(name.get_ref<const std::string&>());
                       });
  if (!is_good) return "its form requires fields that it does not have";
  return std::nullopt;
}

} // namespace mcp

result<std::string> filled_form(const std::string& form, const std::string& values) {
  const json schema = parse_json(form).value_or(json::object());
  const json empty = json::object();
  const json& fields = member(schema, "properties").is_object() ? member(schema, "properties") : empty;
  auto given = blank(values) ? json::object() : parse_json(values).value_or(json());
  if (!given.is_object())
    return failure(error_code::invalid_values, "the values must be a JSON object, like {\"name\":\"Ann\"}");
  for (const auto& [name, value] : given.items()) {
    if (!fields.contains(name))
      return failure(error_code::invalid_values,
                     quoted_name(name) + " is not a field of this question (its fields: " + names_text(fields) + ")",
                     pointer_of(name));
    if (const auto wrong = wrong_value(fields[name], value); !wrong.empty())
      return failure(error_code::invalid_values, quoted_name(name) + " " + wrong, pointer_of(name));
  }
  for (const auto& [name, field] : fields.items()) {
    const json& usual = member(field, "default");
    if (!given.contains(name) && !usual.is_null() && wrong_value(field, usual).empty()) given[name] = usual;
  }
  if (const json& required = member(schema, "required"); required.is_array())
    for (const json& name : required)
      if (name.is_string() && !given.contains(name.get_ref<const std::string&>()))
        return failure(error_code::invalid_values,
                       quoted_name(name.get<std::string>()) + " is required, and the question has no default for it",
                       pointer_of(name.get<std::string>()));
  return dump_json(given);
}

} // namespace quell::integrations
