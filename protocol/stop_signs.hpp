// The signs of quell's own words about a stop, in text that somebody else wrote: no line of it may look like ours.
// Pure.
//
// A line that begins with ⏹ or 🛑 is quell's wherever people read a model's text and quell's words in one place: it
// says what is proven. A model's lines begin with • there.
#pragma once

#include <string>
#include <string_view>

namespace quell {

/// Takes streamed UTF-8 text of others, in pieces that end between characters.
class stop_sign_filter {
 public:
  /// The piece with • for each sign that stands before the first letter or digit of its line, behind whatever else is
  /// there (blanks, markup, marks that nobody sees). A sign is ⏹, 🛑, or a name such as `:stop_sign:` that chat
  /// services draw as one. The result is never longer than the piece, in bytes, UTF-16 units and characters.
  std::string pass(std::string_view piece);
  /// The next piece stands at the beginning of a line.
  void begin_line() { is_at_beginning_ = true; }

 private:
  bool is_at_beginning_ = true;
};

/// The same for a whole text.
std::string without_stop_signs(std::string_view text);

} // namespace quell
