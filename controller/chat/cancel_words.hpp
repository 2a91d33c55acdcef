// Is this message a cancel word? A fixed rule, never a model: lead-ins or the bot's name, then one cancel word, then a
// few words that may follow. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::controller::chat {

/// Words may be phrases. Upper and lower case are the same, in every script.
struct vocabulary {
  std::vector<std::string> lead_ins;  ///< any number of them, in any order, before the word
  std::vector<std::string> words;     ///< exactly one; the blanks in "forget it" may be left out
  std::vector<std::string> followers; ///< any number, behind the word
};

/// English; what a configuration names comes on top, so that "stop" stops everywhere.
const vocabulary& built_in_words();

/// Any thread.
class cancel_words {
 public:
  /// `more`: beside the built-in ones. `bot_names`: how the bot is called everywhere.
  cancel_words(const vocabulary& more, const std::vector<std::string>& bot_names);
  ~cancel_words();
  cancel_words(cancel_words&&) noexcept;

  struct found {
    std::string word;
    bool names_bot = false; ///< the bot's name stands among the lead-ins
  };
  std::optional<found> look(std::string_view text, const std::vector<std::string>& bot_names) const;
  /// The word, as it is configured, if `text` is nothing but a cancel. `bot_names`: how the bot is called here, too.
  /// Time is linear in the text, and what cannot be a cancel any more is not read on.
  std::optional<std::string> find(std::string_view text, const std::vector<std::string>& bot_names) const;

 private:
  struct phrases;
  std::unique_ptr<phrases> known_;
};

} // namespace quell::controller::chat
