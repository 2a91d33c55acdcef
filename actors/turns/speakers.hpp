// Names who wrote each message, for a model in whose conversation several people write.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/records/history.hpp"

namespace quell::controller::turns {

class speakers {
 public:
  /// The people of a conversation. Where only one person writes, messages have no names before them.
  explicit speakers(const std::vector<records::kept_message>& kept);

  /// The ids of two people who write in it, or of the only one; also of those whose messages a summary stands for.
  const std::vector<std::string>& people() const { return people_; }

  /// A person's message as the model reads it. A line that begins like a name of ours, or a note of quell, is quoted,
  /// so that nobody speaks for somebody else.
  std::string text_of(const records::message_record& message) const;

 private:
  bool is_forged(std::string_view line) const;

  std::vector<std::string> people_;
  std::map<std::string, std::string> marks_; ///< `<name>` by the author's id; empty: only one person writes
  std::set<std::string, std::less<>>
      shown_; ///< the names in them without spaces and capital letters, each of one person alone
};

} // namespace quell::controller::turns
