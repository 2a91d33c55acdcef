// Types, units and limits of single values.
#include "quelld/settings/toml_table.hpp"

#include <algorithm>
#include <cstdio>

#include "protocol/duration.hpp"
#include "protocol/nearest.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

const toml::node* toml_table::find(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return table_.get(key);
}

void toml_table::wrong(const std::string& key, const std::string& why) {
  const auto* node = key.empty() ? nullptr : table_.get(key);
  const auto line = node ? node->source().begin.line : table_.source().begin.line;
  trouble_.say(line, place_ + (key.empty() ? "" : ": " + key) + " " + why);
}

bool toml_table::has(const char* key) { return find(key) != nullptr; }

std::optional<std::string> toml_table::text_if(const char* key, std::size_t most_bytes) {
  const auto* node = find(key);
  if (!node) return std::nullopt;
  const auto text = node->value_exact<std::string>();
  if (!text) {
    wrong(key, "must be a string");
    return std::nullopt;
  }
  if (text->size() > most_bytes) wrong(key, "has more than " + std::to_string(most_bytes) + " bytes; make it shorter");
  if (text->find('\0') != std::string::npos || !is_utf8(*text)) wrong(key, "must be UTF-8 text without NUL");
  return trouble_.first() ? std::optional<std::string>(std::string()) : text;
}

std::string toml_table::text(const char* key, std::size_t most_bytes) {
  return text_if(key, most_bytes).value_or(std::string());
}

std::uint32_t toml_table::number(const char* key, std::uint32_t otherwise, std::uint32_t least, std::uint32_t most) {
  const auto* node = find(key);
  if (!node) return otherwise;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= least && *value <= most) return static_cast<std::uint32_t>(*value);
  wrong(key, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return otherwise;
}

double toml_table::fraction(const char* key, double otherwise) {
  const auto* node = find(key);
  if (!node) return otherwise;
  const auto value = node->value<double>();
  if (value && *value >= 0 && *value <= 1) return *value;
  wrong(key, "must be a number from 0 to 1");
  return otherwise;
}

std::optional<double> toml_table::real_if(const char* key, double least, double most) {
  const auto* node = find(key);
  if (!node) return std::nullopt;
  const auto value = node->value<double>();
  if (value && *value >= least && *value <= most) return value;
  char text[64] = {};
  std::snprintf(text, sizeof text, "must be a number from %g to %g", least, most);
  wrong(key, text);
  return std::nullopt;
}

bool toml_table::is_text(const char* key) {
  const auto* node = find(key);
  return node && node->is_string();
}

bool toml_table::flag(const char* key, bool otherwise) {
  const auto* node = find(key);
  if (!node) return otherwise;
  const auto value = node->value_exact<bool>();
  if (!value) wrong(key, "must be true or false");
  return value.value_or(otherwise);
}

milliseconds toml_table::duration(const char* key, milliseconds otherwise, milliseconds least) {
  const auto* node = find(key);
  if (!node) return otherwise;
  std::string text;
  if (const auto s = node->value_exact<std::string>()) text = *s;
  if (const auto i = node->value_exact<std::int64_t>()) text = std::to_string(*i);
  const auto value = parse_duration(text);
  if (value && *value >= least) return *value;
  wrong(key,
        value ? "must be at least " + duration_text(least) : "must be a duration such as \"60s\", \"5m\" or \"250ms\"");
  return otherwise;
}

std::vector<std::string> toml_table::texts(const char* key, std::size_t most, std::size_t most_bytes) {
  std::vector<std::string> all;
  const auto* node = find(key);
  if (!node) return all;
  const auto* list = node->as_array();
  if (!list) {
    wrong(key, "must be a list of strings, as in [\"a\", \"b\"]");
    return all;
  }
  if (list->size() > most) {
    wrong(key, "has " + std::to_string(list->size()) + " entries; at most " + std::to_string(most) + " are taken");
    return all;
  }
  std::size_t bytes = 0;
  for (const auto& entry : *list) {
    const auto text = entry.value_exact<std::string>();
    if (!text || text->find('\0') != std::string::npos || !is_utf8(*text)) {
      wrong(key, "must be a list of strings (UTF-8, without NUL), as in [\"a\", \"b\"]");
      return {};
    }
    bytes += text->size() + 1;
    all.push_back(*text);
  }
  if (bytes > most_bytes) wrong(key, "has more than " + std::to_string(most_bytes) + " bytes in all; make it shorter");
  return all;
}

std::map<std::string, std::string> toml_table::pairs(const char* key, std::size_t most) {
  std::map<std::string, std::string> all;
  const auto* inner = table(key);
  if (!inner) return all;
  if (inner->size() > most) {
    wrong(key, "has " + std::to_string(inner->size()) + " entries; at most " + std::to_string(most) + " are taken");
    return all;
  }
  for (const auto& [name, value] : *inner) {
    const auto text = value.value_exact<std::string>();
    if (!text || text->find('\0') != std::string::npos || !is_utf8(*text) || name.str().empty() ||
        name.str().find('\0') != std::string_view::npos) {
      wrong(key, "must be pairs of strings (UTF-8, without NUL), as in { NAME = \"value\" }");
      return {};
    }
    all.emplace(std::string(name.str()), *text);
  }
  return all;
}

const toml::table* toml_table::table(const char* key) {
  const auto* node = find(key);
  if (!node) return nullptr;
  if (!node->is_table()) wrong(key, "must be a table, as in { a = \"b\" }");
  return node->as_table();
}

void toml_table::end() {
  for (const auto& [name, value] : table_) {
    const auto key = std::string(name.str());
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    trouble_.say(value.source().begin.line, place_ + ": unknown key " + key + "; the nearest known one is " +
                                                nearest(key, known_) + " (docs/agents.md lists all)");
  }
}

} // namespace quell::controller::turns
