// The abilities of the terminal: queried once, passed around as a value.
#pragma once

#include <string>
#include <string_view>

#include "cli/columns.hpp"
#include "cli/connection.hpp"

namespace quell::cli {

enum class color_mode : std::uint8_t { automatic, always, never };

struct terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color_out = false;
  bool color_err = false;
  character_set characters = character_set::ascii;
  int columns = 0; ///< of standard output; 0 = not a terminal, so nothing is cut
};

terminal this_terminal(color_mode mode, const environment& env);

enum class color : std::uint8_t { none, bold, dim, red, green, yellow, blue };
/// The text in that colour, if the output has colours.
std::string painted(std::string_view text, color c, bool has_colors);
/// The colour for the status of an operation, cancel or worker.
color color_of_status(std::string_view status);
/// The width of `text` in columns (UTF-8; escapes of `painted` count nothing).
std::size_t shown_width(std::string_view text);
/// Cut to `columns`, ending in `…` or `~` if text is missing.
std::string cut(std::string_view text, std::size_t columns, character_set shown);

} // namespace quell::cli
