// Code between ``` in a text that is cut into messages: what was open at a cut is closed there and opened again. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

/// The line that opens the code in which `text` ends, with its language and line break: "```cpp\n"; "" if it ends
/// outside of code.
std::string open_fence(std::string_view text);

/// What must follow a text that ends within code.
std::string_view closing_fence(std::string_view text);

/// The longest that `closing_fence` can be.
inline constexpr std::size_t most_closing = 4;

/// `cut`, or a better place before it (never before `at_least`): not inside of a ```, not between it and its code.
std::size_t cut_outside_fence(std::string_view text, std::size_t cut, std::size_t at_least);

} // namespace quell::integrations::chat
