// The version of each file that one conversation saw last when it read or wrote the file.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "actors/turns/settings.hpp"
#include "protocol/conversation.hpp"

namespace quell::controller::turns {

bool is_file_tool(const std::string& name); ///< read, write, edit
/// The file that a call of `read`, `write` or `edit` names, as one path for every spelling; "" = it names none.
std::string file_of_call(const agent_settings& agent, const std::string& input_json);

/// Any thread.
class file_versions {
 public:
  /// Takes the version of the file that was read or written from an answer of quell-tool. Other calls change nothing.
  void note(const std::string& file, const std::string& result_json);
  /// The same for all calls of a conversation, in order.
  void note_all(const agent_settings& agent, const conversation& so_far);
  /// "" = not read so far.
  std::string of(const std::string& file) const;

 private:
  mutable std::mutex guard_;
  std::map<std::string, std::string> seen_;
};

} // namespace quell::controller::turns
