// One form for texts that a reader takes for the same.
#pragma once

#include <string>
#include <string_view>

namespace quell::controller::turns {

/// Without differences of width, capital letters and composed accents, and without characters that are never seen. Text
/// that is not UTF-8 stays as it is.
std::string folded_text(std::string_view text);

} // namespace quell::controller::turns
