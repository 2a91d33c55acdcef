// Copies a schema keyword by keyword.
//
// A server wrote the schema, a model the value, and the controller reads both: a `$ref` to itself, a pattern that
// backtracks for hours, or a nesting that overflows the stack must not stop it. Only parts that make a schema stricter
// are dropped, and nothing below a `not` is kept, so that a value that fits the server's schema fits the copy, too.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "actors/turns/schema.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::size_t most_nodes = 4000;
constexpr int most_schema_depth = 24;

class copier {
 public:
  explicit copier(const json& root) : root_(root) {}

  json copy(const json& from, int depth) {
    if (!from.is_object() || depth > most_schema_depth || ++nodes_ > most_nodes) {
      if (from.is_boolean() && !from.get<bool>()) return json{{"enum", json::array({nothing})}};
      return json::object();
    }
    json to = json::object();
    copy_types(from, to);
    copy_values(from, to);
    copy_bounds(from, to);
    copy_members(from, to, depth);
    copy_items(from, to, depth);
    copy_choices(from, to, depth);
    copy_reference(from, to, depth);
    return to;
  }
  bool too_large() const { return nodes_ > most_nodes; }

 private:
  static constexpr const char* nothing = "\x01nothing fits here";

  static const json* find(const json& from, const char* key) {
    const auto at = from.find(key);
    return at == from.end() ? nullptr : &*at;
  }

  static bool is_type(const json& name) {
    constexpr std::array<std::string_view, 7> types{"string", "number", "integer", "boolean",
                                                    "object", "array",  "null"};
    return name.is_string() && std::find(types.begin(), types.end(), name.get_ref<const std::string&>()) != types.end();
  }

  static void copy_types(const json& from, json& to) {
    const auto* type = find(from, "type");
    if (!type) return;
    const bool is_list = type->is_array() && !type->empty() && std::all_of(type->begin(), type->end(), is_type);
    if (!is_type(*type) && !is_list) return;
    to["type"] = *type;
    // The equivalent in Draft 4, as used by OpenAPI.
    if (const auto* null = find(from, "nullable"); null && *null == true && type->is_string())
      to["type"] = json::array({*type, "null"});
  }

  static void copy_values(const json& from, json& to) {
    constexpr std::size_t most = 1000;
    if (const auto* values = find(from, "enum");
        values && values->is_array() && !values->empty() && values->size() <= most)
      to["enum"] = *values;
    // As an enum of one value, because its error message shows the value.
    if (const auto* value = find(from, "const"); value && !to.contains("enum")) to["enum"] = json::array({*value});
  }

  static void copy_bounds(const json& from, json& to) {
    for (const char* key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
      if (const auto* v = find(from, key); v && v->is_number()) to[key] = *v;
    for (const char* key : {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
      if (const auto* v = find(from, key); v && v->is_number_unsigned() && v->get<std::uint64_t>() < (1ULL << 62))
        to[key] = *v;
  }

  void copy_members(const json& from, json& to, int depth) {
    const auto* members = find(from, "properties");
    if (members && members->is_object()) {
      auto& copied = to["properties"] = json::object();
      for (const auto& [name, schema] : members->items()) copied[name] = copy(schema, depth + 1);
    }
    if (const auto* names = find(from, "required");
        names && names->is_array() && !names->empty() &&
        std::all_of(names->begin(), names->end(), [](const json& n) { return n.is_string(); })) {
      // The validator rejects a repeated name.
      auto unique = names->get<std::vector<std::string>>();
      std::sort(unique.begin(), unique.end());
      unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
      to["required"] = unique;
    }
    const auto* others = find(from, "additionalProperties");
    if (!others || find(from, "patternProperties")) return;
    if (others->is_boolean()) {
      if (!others->get<bool>()) to["additionalProperties"] = false;
    } else if (others->is_object()) {
      to["additionalProperties"] = copy(*others, depth + 1);
    }
  }

  void copy_items(const json& from, json& to, int depth) {
    const auto* items = find(from, "items");
    if (items && items->is_object() && !find(from, "prefixItems")) to["items"] = copy(*items, depth + 1);
  }

  void copy_choices(const json& from, json& to, int depth) {
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      const auto* choices = find(from, key);
      if (!choices || !choices->is_array() || choices->empty()) continue;
      auto copied = json::array();
      for (const auto& c : *choices) copied.push_back(copy(c, depth + 1));
      if (std::string_view(key) == "allOf") {
        for (auto& c : copied) to["allOf"].push_back(std::move(c));
      } else {
        to["allOf"].push_back(json{{"anyOf", std::move(copied)}});
      }
    }
  }

  void copy_reference(const json& from, json& to, int depth) {
    const auto* reference = find(from, "$ref");
    if (!reference || !reference->is_string()) return;
    const auto& text = reference->get_ref<const std::string&>();
    if (!text.starts_with("#")) return;
    try {
      const json::json_pointer pointer(text.substr(1));
      if (root_.contains(pointer)) to["allOf"].push_back(copy(root_.at(pointer), depth + 1));
    } catch (const json::exception&) { // not a pointer
    }
  }

  const json& root_;
  std::size_t nodes_ = 0;
};

} // namespace

json sanitized_schema(const json& schema) {
  copier c(schema);
  auto copy = c.copy(schema, 0);
  return c.too_large() ? json::object() : copy;
}

} // namespace quell::controller::turns
