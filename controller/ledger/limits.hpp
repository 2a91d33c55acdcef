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
inline constexpr std::size_t most_processes = 20;

inline bool is_within_limits(const wire::task_ended& m) {
  return m.error_message.size() <= most_message_bytes && m.error_code.size() <= most_word_bytes &&
         (!m.exit || !m.exit->signal || m.exit->signal->size() <= most_word_bytes) && m.left.size() <= most_processes &&
         std::all_of(m.left.begin(), m.left.end(), [](const process_view& p) {
           return p.state.size() <= most_word_bytes && p.command.size() <= most_command_bytes;
         });
}

inline void cut(std::string& text, std::size_t most) {
  if (text.size() > most) text.resize(most);
}

inline void cut(std::vector<process_view>& processes) {
  if (processes.size() > most_processes) processes.resize(most_processes);
  for (auto& p : processes) {
    cut(p.state, most_word_bytes);
    cut(p.command, most_command_bytes);
  }
}

inline wire::task_ended within_limits(wire::task_ended m) {
  cut(m.error_message, most_message_bytes);
  cut(m.error_code, most_word_bytes);
  if (m.exit && m.exit->signal) cut(*m.exit->signal, most_word_bytes);
  cut(m.left);
  return m;
}

inline wire::task_unproven within_limits(wire::task_unproven m) {
  cut(m.processes);
  return m;
}

} // namespace quell::controller::live
