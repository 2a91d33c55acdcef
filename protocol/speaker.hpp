// The name before a person's message, as a model reads it where several people talk: `<Ann> text`.
#pragma once

#include <string>
#include <string_view>

namespace quell {

inline std::string speaker_mark(std::string_view name) { return "<" + std::string(name) + ">"; }

/// `text` without the name before it.
inline std::string_view without_speaker(std::string_view text) {
  const auto end = text.starts_with('<') ? text.find("> ") : std::string_view::npos;
  return end == std::string_view::npos ? text : text.substr(end + 2);
}

} // namespace quell
