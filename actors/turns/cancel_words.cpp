// Reads a message word by word. After each word two states are possible: the cancel word can still come (all words so
// far were lead-ins), or it has come (all words since can follow it). If neither holds, the message is not a cancel.
#include "actors/turns/cancel_words.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cwctype>

namespace quell::controller::chat {

namespace {

constexpr std::size_t most_words_in_phrase = 16;

using word_list = std::vector<std::u32string>;

/// One code point and its length in bytes. Invalid UTF-8 counts as a separate letter that no known word contains.
struct code_point {
  char32_t value = 0xFFFD;
  std::size_t bytes = 1;
};

code_point first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 1) return {static_cast<char32_t>(lead), 1};
  if (length == 0 || length > text.size()) return {};
  char32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  return {value, length};
}

/// Simple case mapping of all scripts, independent of the process's locale.
char32_t lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return unicode ? static_cast<char32_t>(towlower_l(static_cast<wint_t>(c), unicode)) : c;
}

bool is_blank(char32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool is_comma(char32_t c) { return c == ',' || c == 0x3001 || c == 0xFF0C; }
bool is_final_mark(char32_t c) { return c == '.' || c == '!' || c == '?' || c == 0x3002 || c == 0xFF01 || c == 0xFF1F; }

/// Reads a text one word at a time.
class word_reader {
 public:
  explicit word_reader(std::string_view text) : left_(text) {
    while (!left_.empty() && is_blank(first_of(left_).value)) skip();
  }
  /// The next word in lower case; nullopt at the end of the text, or before final punctuation.
  std::optional<std::u32string> next() {
    std::u32string word;
    while (!left_.empty()) {
      const char32_t c = first_of(left_).value;
      if (is_blank(c) || is_comma(c) || is_final_mark(c)) break;
      if (word.size() == longest_word) break; // no known word is this long, so what follows cannot match either
      word += lower(c);
      skip();
    }
    if (word.empty()) return std::nullopt;
    while (!left_.empty() && (is_blank(first_of(left_).value) || is_comma(first_of(left_).value))) skip();
    return word;
  }
  /// True if only final punctuation and blanks are left.
  bool is_over() const {
    auto rest = left_;
    while (!rest.empty()) {
      const auto c = first_of(rest);
      if (!is_final_mark(c.value) && !is_blank(c.value)) return false;
      rest.remove_prefix(c.bytes);
    }
    return true;
  }

 private:
  static constexpr std::size_t longest_word = 256;
  void skip() { left_.remove_prefix(first_of(left_).bytes); }
  std::string_view left_;
};

word_list words_of(const std::string& phrase) {
  word_list words;
  word_reader reader(phrase);
  while (auto word = reader.next()) words.push_back(std::move(*word));
  return words;
}

struct phrase {
  word_list words;
  std::string said; ///< as configured
};

void add(std::vector<phrase>& to, const std::string& text) {
  phrase p{words_of(text), text};
  if (!p.words.empty() && p.words.size() <= most_words_in_phrase) to.push_back(std::move(p));
}

/// Names appear as "clanky", "@clanky" and "clanky:".
void add_name(std::vector<phrase>& to, const std::string& name) {
  add(to, name);
  add(to, name + ":");
  if (!name.starts_with('@')) {
    add(to, "@" + name);
    add(to, "@" + name + ":");
  }
}

/// The states that are possible at a position between two words.
struct open_ways {
  bool word_may_come = false;
  const phrase* has_come = nullptr;
  bool names_bot = false;
  bool any() const { return word_may_come || has_come; }
};

/// The words read last, and the states after the next ones: phrases can begin at each position, so as many states are
/// kept as the longest phrase has words.
class ways {
 public:
  ways() { at(0).word_may_come = true; }
  open_ways& at(std::size_t ahead) { return open_[(now_ + ahead) % open_.size()]; }
  void step() {
    at(0) = {};
    now_ = (now_ + 1) % open_.size();
  }
  bool is_dead() const {
    return std::none_of(open_.begin(), open_.end(), [](const open_ways& w) { return w.any(); });
  }

 private:
  std::array<open_ways, most_words_in_phrase + 1> open_{};
  std::size_t now_ = 0;
};

/// Words after the current position; read as far as a phrase needs them.
class lookahead {
 public:
  explicit lookahead(std::string_view text) : reader_(text) {}
  bool starts_with(const word_list& words) {
    while (ahead_.size() < words.size()) {
      auto next = reader_.next();
      if (!next) return false;
      ahead_.push_back(std::move(*next));
    }
    return std::equal(words.begin(), words.end(), ahead_.begin());
  }
  /// Moves to the next word. False at the end.
  bool step() {
    if (ahead_.empty()) {
      if (!reader_.next()) return false;
      return true;
    }
    ahead_.erase(ahead_.begin());
    return true;
  }
  bool has_word() {
    if (!ahead_.empty()) return true;
    auto next = reader_.next();
    if (next) ahead_.push_back(std::move(*next));
    return !ahead_.empty();
  }
  bool is_over() const { return ahead_.empty() && reader_.is_over(); }

 private:
  word_reader reader_;
  std::vector<std::u32string> ahead_; ///< at most as many as the longest phrase
};

} // namespace

struct cancel_words::phrases {
  std::vector<phrase> lead_ins, names, words, followers;
};

const vocabulary& built_in_words() {
  static const vocabulary english{
      {"ok", "okay", "oh", "actually", "just", "please", "yeah", "hey"},
      {"stop", "cancel", "never mind", "nevermind", "nvm", "forget it", "abort", "quit"},
      {"it", "that", "this", "please", "now"},
  };
  return english;
}

cancel_words::cancel_words(const vocabulary& more, const std::vector<std::string>& bot_names)
    : known_(std::make_unique<phrases>()) {
  for (const auto* v : {&built_in_words(), &more}) {
    for (const auto& text : v->lead_ins) add(known_->lead_ins, text);
    for (const auto& text : v->followers) add(known_->followers, text);
    for (const auto& text : v->words) {
      add(known_->words, text);
      auto joined = words_of(text);
      if (joined.size() < 2) continue;
      std::u32string one;
      for (const auto& word : joined) one += word;
      known_->words.push_back({{std::move(one)}, text});
    }
  }
  for (const auto& name : bot_names) add_name(known_->names, name);
}

cancel_words::~cancel_words() = default;
cancel_words::cancel_words(cancel_words&&) noexcept = default;

std::optional<cancel_words::found> cancel_words::look(std::string_view text,
                                                      const std::vector<std::string>& bot_names) const {
  std::vector<phrase> names;
  for (const auto& name : bot_names) add_name(names, name);
  lookahead ahead(text);
  ways open;
  const auto follow = [&](const std::vector<phrase>& all, const auto& mark) {
    for (const auto& p : all)
      if (ahead.starts_with(p.words)) mark(open.at(p.words.size()), p);
  };
  while (ahead.has_word()) {
    const open_ways here = open.at(0);
    if (here.word_may_come) {
      const auto leads = [&](bool is_name) {
        return [&here, is_name](open_ways& to, const phrase&) {
          to.word_may_come = true;
          to.names_bot = to.names_bot || is_name || here.names_bot;
        };
      };
      follow(known_->lead_ins, leads(false));
      follow(known_->names, leads(true));
      follow(names, leads(true));
      follow(known_->words, [&](open_ways& to, const phrase& p) {
        if (!to.has_come) to.has_come = &p;
        to.names_bot = to.names_bot || here.names_bot;
      });
    }
    if (here.has_come)
      follow(known_->followers, [&](open_ways& to, const phrase&) {
        if (!to.has_come) to.has_come = here.has_come;
        to.names_bot = to.names_bot || here.names_bot;
      });
    open.step();
    if (open.is_dead()) return std::nullopt;
    ahead.step();
  }
  if (!ahead.is_over() || !open.at(0).has_come) return std::nullopt;
  return found{open.at(0).has_come->said, open.at(0).names_bot};
}

std::optional<std::string> cancel_words::find(std::string_view text, const std::vector<std::string>& bot_names) const {
  auto seen = look(text, bot_names);
  if (!seen) return std::nullopt;
  return std::move(seen->word);
}

} // namespace quell::controller::chat
