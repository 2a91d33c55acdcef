// The keys of [worker] for the restrictions on tasks and their limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/toml.hpp"
#include "worker/settings.hpp"

namespace quell::worker {

struct confinement_value {
  std::optional<std::string> text;
  std::optional<std::int64_t> number;
  std::optional<std::vector<std::string>> list;
};

/// The value of a flag or a variable: the text, and the number if it is one.
confinement_value read_confinement(const std::string& text);
bool is_confinement_key(std::string_view key);
/// Returns "", or what the key must be ("must be …").
std::string set_confinement(settings_layer& s, std::string_view key, confinement_value v);
/// These keys with their values.
toml::table confinement_as_toml(const settings_layer& s);

} // namespace quell::worker
