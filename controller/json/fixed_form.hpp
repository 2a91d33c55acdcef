// Reads the small JSON objects of one fixed form that the core writes into rows itself: part by part, from the
// beginning.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace quell::controller::http {

/// Takes `what` from the beginning of `text`; false: it does not stand there.
inline bool take_part(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// Takes the digits at the beginning of `text`; false: there are none, or the number is too large.
template <class Number>
bool take_number(std::string_view& text, Number& number, int base = 10) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return read.ec == std::errc();
}

} // namespace quell::controller::http
