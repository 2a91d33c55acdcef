// Limits for texts from workers, since they are kept in memory, in rows and in answers: the most that an honest worker
// sends.
#pragma once

#include <algorithm>
#include <string>

#include "protocol/messages.hpp"

namespace quell::controller::live {

inline constexpr std::size_t most_message_bytes = 4096;
inline constexpr std::size_t most_word_bytes = 64;
inline constexpr std::size_t most_command_bytes = 200;

inline bool is_within_limits(const wire::task_ended& m) {
  return m.error_message.size() <= most_message_bytes && m.error_code.size() <= most_word_bytes &&
         (!m.exit || !m.exit->signal || m.exit->signal->size() <= most_word_bytes);
}

inline void cut(std::string& text, std::size_t most) {
  if (text.size() > most) text.resize(most);
}

inline wire::task_ended within_limits(wire::task_ended m) {
  cut(m.error_message, most_message_bytes);
  cut(m.error_code, most_word_bytes);
  if (m.exit && m.exit->signal) cut(*m.exit->signal, most_word_bytes);
  return m;
}

inline wire::task_unproven within_limits(wire::task_unproven m) {
  for (auto& p : m.processes) {
    cut(p.state, most_word_bytes);
    cut(p.command, most_command_bytes);
  }
  return m;
}

} // namespace quell::controller::live
