// Code between ``` in a text that is cut into messages: a block open at a cut is closed there and reopened. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

/// The line that opens the code block in which `text` ends, with its language and line break: "```cpp\n"; "" if it ends
/// outside of code.
std::string open_fence(std::string_view text);

/// The text that must follow a text that ends inside code.
std::string_view closing_fence(std::string_view text);

/// Maximum length of `closing_fence`.
inline constexpr std::size_t most_closing = 4;

/// `cut`, or a better position before it (never before `at_least`): not inside a ```, not between it and its code.
std::size_t cut_outside_fence(std::string_view text, std::size_t cut, std::size_t at_least);

} // namespace quell::integrations::chat
