// The keys of `quell talk`: names of keys, and single keys out of what a terminal sends. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell::cli {

inline constexpr char escape_key = '\x1b';

/// `space`, `tab`, `enter`, `esc` or one printable character; nullopt otherwise.
std::optional<char> key_named(std::string_view name);
std::string name_of_key(char key);

/// Takes out what arrow and function keys send (ESC [ … and ESC O …); an ESC at the end of the bytes is the key Esc.
std::string keys_in(std::string_view bytes);

} // namespace quell::cli
