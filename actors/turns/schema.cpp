// Wraps valijson in one function; the only file that includes it.
#include "actors/turns/schema.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

// Without exceptions the library ends the program on an unreadable schema.
#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace quell::controller::turns {

using nlohmann::json;

namespace {

using adapter = valijson::adapters::NlohmannJsonAdapter;

/// The place of an error: the field as a model would write it (`a.b[3]`), its schema, and its value.
struct place {
  std::string field;
  std::string pointer;              ///< the same as a JSON pointer
  std::vector<const json*> schemas; ///< the schema and its parts (`allOf`)
  const json* value = nullptr;
};

const json* child(const json* from, const char* key) {
  if (!from || !from->is_object()) return nullptr;
  const auto at = from->find(key);
  return at == from->end() ? nullptr : &*at;
}

void add_parts(const json* schema, std::vector<const json*>& all) {
  if (!schema || !schema->is_object()) return;
  all.push_back(schema);
  if (const auto* parts = child(schema, "allOf"))
    for (const auto& part : *parts) add_parts(&part, all);
}

/// The value of the keyword, from the first part that has it.
const json* keyword(const std::vector<const json*>& schemas, const char* key) {
  for (const auto* s : schemas)
    if (const auto* found = child(s, key)) return found;
  return nullptr;
}

/// A name as a part of a JSON pointer.
std::string pointer_step(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return out;
}

/// valijson's context: `<root>`, then `[name]` or `[3]`.
place place_of(const std::vector<std::string>& context, const json& schema, const json& value) {
  place p;
  p.value = &value;
  add_parts(&schema, p.schemas);
  for (std::size_t i = 1; i < context.size() && p.field.size() < 200; ++i) {
    auto step = context[i];
    if (step.size() >= 2 && step.front() == '[') step = step.substr(1, step.size() - 2);
    const bool in_list = p.value && p.value->is_array();
    std::vector<const json*> below;
    for (const auto* s : p.schemas) {
      const auto* named = child(child(s, "properties"), step.c_str());
      add_parts(in_list ? child(s, "items") : named ? named : child(s, "additionalProperties"), below);
    }
    p.schemas = std::move(below);
    p.pointer += "/" + pointer_step(step.substr(0, 128));
    if (in_list) {
      p.field += "[" + step + "]";
      const bool is_number = step.size() < 10 && step.find_first_not_of("0123456789") == std::string::npos;
      const auto index = is_number ? std::stoul(step) : p.value->size();
      p.value = index < p.value->size() ? &(*p.value)[index] : nullptr;
    } else {
      p.field += (p.field.empty() ? "" : ".") + step.substr(0, 128);
      p.value = child(p.value, step.c_str());
    }
  }
  return p;
}

std::string short_text(const json& value) {
  auto text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 300) text = text.substr(0, 300) + "...";
  return text;
}

std::string members_of(const std::vector<const json*>& schemas) {
  const auto* members = keyword(schemas, "properties");
  if (!members || members->empty()) return {};
  std::string names;
  for (const auto& [name, ignored] : members->items())
    if (names.size() < 300) names += (names.empty() ? "`" : ", `") + name + "`";
  return " (known: " + names + ")";
}

/// The name at the sentence's end: `… constraints: 'name'.`
std::string last_quoted(const std::string& text) {
  const auto last = text.rfind('\'');
  const auto first = last == std::string::npos || last == 0 ? last : text.rfind(" '", last - 1);
  if (first == std::string::npos || last < first + 2) return {};
  return text.substr(first + 2, std::min<std::size_t>(last - first - 2, 128));
}

std::string types_of(const json& type) {
  if (type.is_string()) return type.get<std::string>();
  std::string all;
  for (const auto& t : type) all += (all.empty() ? "" : " or ") + t.get<std::string>();
  return all;
}

/// Rewrites valijson's sentence in this project's terms.
std::string sentence(const std::string& stated, const place& p) {
  const std::string who = p.field.empty() ? "the input" : "`" + p.field + "`";
  const auto inner = [&](const std::string& name) { return "`" + (p.field.empty() ? "" : p.field + ".") + name + "`"; };
  if (stated.starts_with("Missing required")) return inner(last_quoted(stated)) + " is required";
  if (stated.starts_with("Object contains a property"))
    return inner(last_quoted(stated)) + " is not a field of this tool" + members_of(p.schemas);
  if (stated.starts_with("Value type not permitted")) {
    const auto* type = keyword(p.schemas, "type");
    return who + (type ? " must be of type " + types_of(*type) : " is of the wrong type") +
           (p.value ? ", not " + std::string(p.value->type_name()) : "");
  }
  if (stated.starts_with("Failed to match against any enum")) {
    const auto* values = keyword(p.schemas, "enum");
    return who + " must be one of " + (values ? short_text(*values) : "the listed values");
  }
  auto text = stated;
  if (text.ends_with('.')) text.pop_back();
  return who + ": " + text;
}

/// A field that is missing, or is too many, is the one that the sentence names.
std::string pointer_of(const std::string& stated, const place& p) {
  const bool names_inner = stated.starts_with("Missing required") || stated.starts_with("Object contains a property");
  return names_inner ? p.pointer + "/" + pointer_step(last_quoted(stated)) : p.pointer;
}

/// An error in a choice is reported as such, since no branch's error is more relevant than another's.
bool is_of_a_choice(const std::string& stated) { return stated.find("anyOf") != std::string::npos; }

} // namespace

std::string wrong_by_schema(const json& schema, const json& value) { return error_by_schema(schema, value).sentence; }

schema_error error_by_schema(const json& schema, const json& value) {
  try {
    valijson::Schema parsed;
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(adapter(schema), parsed);
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    valijson::ValidationResults results;
    if (validator.validate(parsed, adapter(value), &results)) return {};
    valijson::ValidationResults::Error error, first;
    bool has_first = false;
    while (results.popError(error)) {
      if (is_of_a_choice(error.description)) {
        const auto p = place_of(error.context, schema, value);
        return {(p.field.empty() ? "the input" : "`" + p.field + "`") +
                    " fits none of the forms that the schema allows",
                p.pointer};
      }
      if (!has_first) first = error;
      has_first = true;
    }
    if (!has_first) return {"the input does not fit the schema", {}};
    const auto p = place_of(first.context, schema, value);
    return {sentence(first.description, p), pointer_of(first.description, p)};
  } catch (const std::exception&) {
    return {}; // not a readable schema: everything is valid
  }
}

} // namespace quell::controller::turns
