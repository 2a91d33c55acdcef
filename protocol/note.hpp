// Notes from quell itself to a model between the messages of people: a separate user message that begins with a mark.
#pragma once

#include <string>
#include <string_view>

namespace quell {

inline constexpr std::string_view note_mark = "[quell: ";

/// `[quell: text]`
inline std::string note(std::string_view text) { return std::string(note_mark).append(text).append("]"); }
inline bool is_note(std::string_view user_text) { return user_text.starts_with(note_mark); }

/// Placed between two messages of users if the first got neither an answer nor another note.
inline std::string no_answer_note() { return note("The message above got no answer."); }

} // namespace quell
