// Flattens both texts into place → value.
#include "quelld/changed_settings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "protocol/toml.hpp"

namespace quell::controller {

namespace {

using flat = std::map<std::string, std::string>; ///< place → value as TOML; of an entry of a list also itself → ""

void flatten(const toml::node& node, const std::string& place, flat& into);

/// The name of an entry of a list of tables: of what it is, or of where it is.
std::string name_of_entry(const toml::table& entry, std::size_t index) {
  for (const char* key : {"name", "scope"})
    if (const auto name = entry[key].value<std::string>(); name && !name->empty()) return *name;
  return std::to_string(index + 1);
}

void flatten_list(const toml::array& list, const std::string& place, flat& into) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto* entry = list.get(i)->as_table();
    const auto named = place + "." + name_of_entry(*entry, i);
    into[named];
    flatten(*entry, named, into);
  }
}

void flatten(const toml::node& node, const std::string& place, flat& into) {
  if (const auto* table = node.as_table()) {
    for (const auto& [key, value] : *table)
      flatten(value, place.empty() ? std::string(key.str()) : place + "." + std::string(key.str()), into);
    return;
  }
  if (const auto* list = node.as_array(); list && list->is_array_of_tables()) return flatten_list(*list, place, into);
  std::ostringstream text;
  if (const auto* list = node.as_array())
    text << *list;
  else
    node.visit([&](const auto& value) {
      if constexpr (toml::is_value<decltype(value)>) text << value;
    });
  into[place] = text.str();
}

result<flat> flattened(const std::string& text) {
  flat all;
  try {
    flatten(toml::parse(text), "", all);
  } catch (const toml::parse_error& e) {
    return failure(error_code::internal, "the printed configuration cannot be read: " + std::string(e.description()));
  }
  return all;
}

bool is_within(const std::string& place, const std::string& entry) { return place.starts_with(entry + "."); }

} // namespace

result<std::vector<std::string>> changed_settings(const std::string& before, const std::string& after) {
  const auto old_places = flattened(before), new_places = flattened(after);
  if (!old_places) return tl::unexpected(old_places.error());
  if (!new_places) return tl::unexpected(new_places.error());
  std::vector<std::string> changed;
  const auto compare = [&](const flat& one, const flat& other, bool differing_too) {
    for (const auto& [place, value] : one) {
      const auto there = other.find(place);
      if (there == other.end() || (differing_too && there->second != value)) changed.push_back(place);
    }
  };
  compare(*old_places, *new_places, true);
  compare(*new_places, *old_places, false);
  std::sort(changed.begin(), changed.end());
  // A new or a removed entry stands for everything in it.
  std::vector<std::string> shortest;
  for (auto& place : changed)
    if (shortest.empty() || !is_within(place, shortest.back())) shortest.push_back(std::move(place));
  return shortest;
}

bool can_be_reloaded(std::string_view place) {
  constexpr auto reloaded =
      std::to_array<std::string_view>({"log.level", "models", "agents", "tools", "approval", "chat", "place"});
  return std::any_of(reloaded.begin(), reloaded.end(), [&](std::string_view section) {
    return place == section || (place.starts_with(section) && place[section.size()] == '.');
  });
}

} // namespace quell::controller
