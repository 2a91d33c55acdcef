// Decides whether a message is a cancel word, by a fixed rule and never by a model: lead-ins or the bot's name, then
// a cancel word, then a few words that can follow it or the bot's name; all of it can be repeated. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::controller::chat {

/// Words can be phrases. Case, width, composition of accents and invisible marks make no difference, in any script. A
/// phrase with accents is also known without any ("ARRETE"), unless that is a phrase of its own.
struct vocabulary {
  std::vector<std::string> lead_ins;  ///< any number of them, in any order, before the cancel word
  std::vector<std::string> words;     ///< at least one; the blanks in "forget it" can be omitted
  std::vector<std::string> followers; ///< any number, after the cancel word
  friend bool operator==(const vocabulary&, const vocabulary&) = default;
};

/// English. A configuration adds to these words, so that "stop" stops everywhere.
const vocabulary& built_in_words();

/// Any thread.
class cancel_words {
 public:
  /// `more`: in addition to the built-in words. `bot_names`: names of the bot that apply everywhere.
  cancel_words(const vocabulary& more, const std::vector<std::string>& bot_names);
  ~cancel_words();
  cancel_words(cancel_words&&) noexcept;
  cancel_words& operator=(cancel_words&&) noexcept;

  struct found {
    std::string word;
    bool names_bot = false; ///< the bot's name is among the lead-ins
  };
  std::optional<found> look(std::string_view text, const std::vector<std::string>& bot_names) const;
  /// The cancel word as configured, if `text` is nothing but a cancel. `bot_names`: additional names of the bot in this
  /// place. Takes linear time, and stops reading a text that can no longer be a cancel.
  std::optional<std::string> find(std::string_view text, const std::vector<std::string>& bot_names) const;

 private:
  struct phrases;
  std::unique_ptr<phrases> known_;
};

} // namespace quell::controller::chat
