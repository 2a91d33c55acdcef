// What quell itself tells a model between the messages of people: a user message of its own that begins with a mark.
#pragma once

#include <string>
#include <string_view>

namespace quell {

inline constexpr std::string_view note_mark = "[quell: ";

/// `[quell: text]`
inline std::string note(std::string_view text) { return std::string(note_mark).append(text).append("]"); }
inline bool is_note(std::string_view user_text) { return user_text.starts_with(note_mark); }

/// Stands between two messages of users of which the first got no answer and no other note.
inline std::string no_answer_note() { return note("The message above got no answer."); }

} // namespace quell
