// How deep JSON text nests, before anything is made of it: values are copied and written recursively, so that one which
// is nested deeply enough would overflow the stack of whoever holds it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace quell {

/// Text of a model or a tool that nests deeper is shown as text, not as JSON. More than any parser here lets through.
inline constexpr std::size_t most_json_levels = 256;

/// The deepest nesting of brackets outside strings, in one pass and without recursion. The text need not be JSON.
constexpr std::size_t json_nesting(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

} // namespace quell
