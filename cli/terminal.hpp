// What the terminal can do: asked once, handed around as a value.
#pragma once

#include <string>
#include <string_view>

#include "cli/connection.hpp"

namespace quell::cli {

enum class color_mode : std::uint8_t { automatic, always, never };

struct terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color_out = false;
  bool color_err = false;
  bool utf8 = false;
  int columns = 0; ///< of standard output; 0 = no terminal, so nothing is cut
};

terminal this_terminal(color_mode mode, const environment& env);

enum class color : std::uint8_t { none, bold, dim, red, green, yellow, blue };
/// The text in that colour if `on`.
std::string painted(std::string_view text, color c, bool on);
/// The colour in which an operation's or cancel's or worker's status is shown.
color color_of_status(std::string_view status);
/// Columns that `text` takes (UTF-8; escapes of `painted` count nothing).
std::size_t shown_width(std::string_view text);
/// Cut to `columns`, ending in `…` or `~` where something is missing.
std::string cut(std::string_view text, std::size_t columns, bool utf8);

} // namespace quell::cli
