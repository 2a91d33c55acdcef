// Words to stop in other languages than English, for places that name them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "actors/turns/cancel_words.hpp"

namespace quell::controller::chat {

/// By its code of ISO 639-1, such as `de`; nullptr: not known here, so its words must be configured.
const vocabulary* words_of_language(std::string_view code);
std::vector<std::string> known_languages();

} // namespace quell::controller::chat
