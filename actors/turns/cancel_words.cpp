// Reads a message word by word. After each word two states are possible: a cancel word must still come (all words since
// the last one are lead-ins), or it has come (all words since can follow it). If neither holds, the message is not a
// cancel.
#include "actors/turns/cancel_words.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <utf8proc.h>

#include "actors/turns/unaccented.hpp"
#include "protocol/utf8.hpp"

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
    if (!continues_character(text[i])) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  return {value, length};
}

/// Signs that are written or left out as the writer likes: the vowels of Arabic and Hebrew, and the stroke that draws
/// an Arabic word out. A hamza is part of its letter.
bool is_optional(char32_t c) {
  return c == 0x640 || (c >= 0x64B && c <= 0x652) || c == 0x670 || (c >= 0x5B0 && c <= 0x5BD) || c == 0x5BF ||
         c == 0x5C1 || c == 0x5C2 || c == 0x5C7;
}

/// Turkish has two letters i, of which other languages write one as a capital: "İPTAL" is "iptal", "BIRAK" is "bırak".
void append_letter(std::u32string& word, char32_t c) {
  if (is_optional(c) || (c == 0x307 && word.ends_with(U'i'))) return;
  word += c == 0x131 ? U'i' : c;
}

/// Appends `c` as letters that compare equal whatever their case, width, font and composition: "É" is "e" and an
/// accent, "Ｓ" and "𝐒" are "s", both final and other sigmas are one letter. Marks that nobody sees (zero width,
/// direction, variation) add nothing, nor do optional signs.
void append_folded(std::u32string& word, char32_t c) {
  if (c < 0x80) {
    word += c >= 'A' && c <= 'Z' ? c + 32 : c;
    return;
  }
  std::array<utf8proc_int32_t, 24> letters{}; // Unicode needs 18 at most
  int last_class = 0;
  const auto how =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), letters.data(),
                                             static_cast<utf8proc_ssize_t>(letters.size()), how, &last_class);
  if (count < 0) {
    word += c; // not a character: no known word contains it
    return;
  }
  for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, std::ssize(letters)); ++i)
    append_letter(word, static_cast<char32_t>(letters[static_cast<std::size_t>(i)]));
}

/// Several accents of one letter compare equal in any order.
void order_accents(std::u32string& word) {
  const auto rank = [](char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class; };
  for (auto at = word.begin(); at != word.end();) {
    if (rank(*at) == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, word.end(), [&](char32_t c) { return rank(c) == 0; });
    std::stable_sort(at, end, [&](char32_t a, char32_t b) { return rank(a) < rank(b); });
    at = end;
  }
}

bool is_blank(char32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
/// Between words: commas, semicolons (the question mark of Greek), dashes, and the ends of sentences ("No. Stop!"), in
/// Arabic and Hindi, too.
bool is_separator(char32_t c) {
  return is_blank(c) || c == ',' || c == 0x3001 || c == 0xFF0C || c == '.' || c == '!' || c == '?' || c == 0x2026 ||
         c == 0x060C || c == 0x061F || c == 0x06D4 || c == 0x0964 || c == 0x2013 || c == 0x2014 || c == 0xFF0E ||
         c == ';' || c == 0x37E || c == 0x61B || c == 0xFF1B || c == 0x3002 || c == 0xFF01 || c == 0xFF1F ||
         c == 0x203C || c == 0x2049 || c == 0xBF || c == 0xA1;
}
/// Marks around a word that are not part of it: quotes, and the emphasis, code and spoilers of chats. Inside a word
/// ("don't", "stop_it") they are letters. Marks that take a word back (~~stop~~) are not among them.
bool wraps_words(char32_t c) {
  return c == '"' || c == '\'' || c == '*' || c == '_' || c == '`' || c == '|' || c == 0xAB || c == 0xBB || c == 0xB4 ||
         (c >= 0x2018 && c <= 0x201F) || c == 0x2039 || c == 0x203A || (c >= 0x300C && c <= 0x300F) || c == 0xFF02 ||
         c == 0xFF07 || c == 0xFF0A || c == 0xFF3F || c == 0xFF40;
}
/// A sign is a word even without blanks around it: "stop🛑🛑".
bool is_stop_sign(char32_t c) { return c == 0x1F6D1 || c == 0x23F9; }

/// Reads a text one word at a time.
class word_reader {
 public:
  explicit word_reader(std::string_view text) : left_(text) {
    const auto may_open = [](char32_t c) {
      return is_blank(c) || is_unseen(c) || wraps_words(c) || c == 0xA1 || c == 0xBF; // ¡ ¿
    };
    while (!left_.empty() && may_open(first_of(left_).value)) skip();
  }
  /// The next word, folded, and the separators after it; nullopt at the end of the text, or if it begins with a
  /// separator other than a blank.
  std::optional<std::u32string> next() {
    std::u32string word;
    while (!left_.empty()) {
      const char32_t c = first_of(left_).value;
      if (is_separator(c)) break;
      if (is_stop_sign(c) && !word.empty()) break;
      if (word.size() >= longest_word) break; // no known word is this long, so what follows cannot match either
      if (wraps_words(c)) {
        auto marks = marks_here();
        if (ends_word(marks)) break;
        for (; marks > 0 && word.size() < longest_word; --marks) {
          append_folded(word, first_of(left_).value);
          skip();
        }
        continue;
      }
      append_folded(word, c);
      skip();
      if (is_stop_sign(c)) break;
    }
    if (word.empty()) return std::nullopt;
    while (!left_.empty() && may_stand_between(first_of(left_).value)) skip();
    order_accents(word);
    return word;
  }
  bool is_over() const { return left_.empty(); }

 private:
  static constexpr std::size_t longest_word = 256;
  static bool is_unseen(char32_t c) {
    if (c < 0x80) return false;
    std::u32string nothing;
    append_folded(nothing, c);
    return nothing.empty();
  }
  static bool may_stand_between(char32_t c) { return is_separator(c) || wraps_words(c) || is_unseen(c); }
  /// The marks that stand here, one behind the other.
  std::size_t marks_here() const {
    std::size_t marks = 0;
    for (auto rest = left_; !rest.empty(); ++marks) {
      const auto c = first_of(rest);
      if (!wraps_words(c.value) && !is_unseen(c.value)) break;
      rest.remove_prefix(c.bytes);
    }
    return marks;
  }
  /// True if no letter comes behind so many marks.
  bool ends_word(std::size_t marks) const {
    auto rest = left_;
    for (; marks > 0; --marks) rest.remove_prefix(first_of(rest).bytes);
    if (rest.empty()) return true;
    const char32_t behind = first_of(rest).value;
    return is_separator(behind) || is_stop_sign(behind);
  }
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
  std::string as_configured; ///< as configured
};

/// Phrases by their first word, so that a text costs the same however many there are: the words of a thousand guilds
/// are looked for at once.
class phrase_list {
 public:
  void add(phrase p) {
    if (p.words.empty() || p.words.size() > most_words_in_phrase) return;
    auto& all = by_first_[p.words.front()];
    if (std::none_of(all.begin(), all.end(), [&](const phrase& known) { return known.words == p.words; }))
      all.push_back(std::move(p));
  }
  bool holds(const word_list& words) const {
    const auto& all = words.empty() ? none_ : beginning_with(words.front());
    return std::any_of(all.begin(), all.end(), [&](const phrase& known) { return known.words == words; });
  }
  /// Those that begin with this word.
  const std::vector<phrase>& beginning_with(const std::u32string& word) const {
    const auto at = by_first_.find(word);
    return at == by_first_.end() ? none_ : at->second;
  }

 private:
  inline static const std::vector<phrase> none_;
  std::unordered_map<std::u32string, std::vector<phrase>> by_first_;
};

void add(phrase_list& to, const std::string& text) { to.add({words_of(text), text}); }

/// Names appear as "clanky", "@clanky" and "clanky:".
void add_name(phrase_list& to, const std::string& name) {
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
  /// The next word; there must be one (`has_word`).
  const std::u32string& first() const { return ahead_.front(); }

 private:
  word_reader reader_;
  std::vector<std::u32string> ahead_; ///< at most as many as the longest phrase
};

} // namespace

struct cancel_words::phrases {
  phrase_list lead_ins, names, words, followers;

  bool hold(const word_list& all) const {
    return lead_ins.holds(all) || names.holds(all) || words.holds(all) || followers.holds(all);
  }
};

const vocabulary& built_in_words() {
  static const vocabulary english{
      {"ok", "okay", "oh", "actually", "just", "please", "yeah", "hey", "no", "wait"},
      {"stop", "cancel", "never mind", "nevermind", "nvm", "forget it", "abort", "quit", "\U0001F6D1", "\u23F9"},
      {"it", "that", "this", "please", "now"},
  };
  return english;
}

cancel_words::cancel_words(const vocabulary& more, const std::vector<std::string>& bot_names)
    : known_(std::make_unique<phrases>()) {
  std::vector<std::pair<phrase_list*, phrase>> without_accents;
  const auto add_phrase = [&](phrase_list& to, phrase p) {
    auto plain = p;
    for (auto& word : plain.words) word = unaccented(word);
    if (plain.words != p.words) without_accents.emplace_back(&to, std::move(plain));
    to.add(std::move(p));
  };
  for (const auto* v : {&built_in_words(), &more}) {
    for (const auto& text : v->lead_ins) add_phrase(known_->lead_ins, {words_of(text), text});
    for (const auto& text : v->followers) add_phrase(known_->followers, {words_of(text), text});
    for (const auto& text : v->words) {
      auto words = words_of(text);
      std::u32string one;
      for (const auto& word : words) one += word;
      if (words.size() > 1) add_phrase(known_->words, {{std::move(one)}, text});
      add_phrase(known_->words, {std::move(words), text});
    }
  }
  for (const auto& name : bot_names) add_name(known_->names, name);
  // A spelling that is configured with a meaning of its own keeps it.
  std::erase_if(without_accents, [&](const auto& one) { return known_->hold(one.second.words); });
  for (auto& [to, p] : without_accents) to->add(std::move(p));
}

cancel_words::~cancel_words() = default;
cancel_words::cancel_words(cancel_words&&) noexcept = default;
cancel_words& cancel_words::operator=(cancel_words&&) noexcept = default;

std::optional<cancel_words::found> cancel_words::look(std::string_view text,
                                                      const std::vector<std::string>& bot_names) const {
  phrase_list names;
  for (const auto& name : bot_names) add_name(names, name);
  lookahead ahead(text);
  ways open;
  const auto follow = [&](const phrase_list& all, const auto& mark) {
    for (const auto& p : all.beginning_with(ahead.first()))
      if (ahead.starts_with(p.words)) mark(open.at(p.words.size()), p);
  };
  const auto read_one = [&](const open_ways& here) {
    const auto leads = [&](bool is_name) {
      return [&here, is_name](open_ways& to, const phrase&) {
        to.word_may_come = true;
        to.names_bot = to.names_bot || is_name || here.names_bot;
      };
    };
    const auto follows = [&](bool is_name) {
      return [&here, is_name](open_ways& to, const phrase&) {
        if (!to.has_come) to.has_come = here.has_come;
        to.names_bot = to.names_bot || is_name || here.names_bot;
      };
    };
    // After a cancel word another one can come: "stop. Please stop!"
    follow(known_->lead_ins, leads(false));
    follow(known_->names, leads(true));
    follow(names, leads(true));
    follow(known_->words, [&](open_ways& to, const phrase& p) {
      if (!to.has_come) to.has_come = here.has_come ? here.has_come : &p;
      to.names_bot = to.names_bot || here.names_bot;
    });
    if (!here.has_come) return;
    follow(known_->followers, follows(false));
    follow(known_->names, follows(true));
    follow(names, follows(true));
  };
  while (ahead.has_word()) {
    const open_ways here = open.at(0);
    if (here.any()) read_one(here);
    open.step();
    if (open.is_dead()) return std::nullopt;
    ahead.step();
  }
  if (!ahead.is_over() || !open.at(0).has_come) return std::nullopt;
  return found{open.at(0).has_come->as_configured, open.at(0).names_bot};
}

std::optional<std::string> cancel_words::find(std::string_view text, const std::vector<std::string>& bot_names) const {
  auto seen = look(text, bot_names);
  if (!seen) return std::nullopt;
  return std::move(seen->word);
}

} // namespace quell::controller::chat
