// The keys of [worker] that say what tasks are kept from and how much they may use.
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

/// Of a flag or a variable: the text, and the number if it is one.
confinement_value read_confinement(const std::string& text);
bool is_confinement_key(std::string_view key);
/// Empty, or what the key must be ("must be …").
std::string set_confinement(settings_layer& s, std::string_view key, confinement_value v);
/// These keys with their values.
toml::table confinement_as_toml(const settings_layer& s);

} // namespace quell::worker
