// Finds the commands in a shell line, as far as possible without running it.
//
// This is not a parser: a parser that is almost a shell offers a way around a rule. Everything that can separate
// commands separates them here, inside quotes, too, so that `sh -c 'cd x && rm y'` contains an `rm y`. Now and then
// that asks a human unnecessarily, which is intended.
#include <algorithm>
#include <array>
#include <cctype>

#include "actors/turns/approval.hpp"

namespace quell::controller::turns {
namespace {

/// Each command and each word after a wrapper is a text of its own: at most this many, with this many bytes in total.
constexpr std::size_t most_texts = 2000, most_bytes = 2 << 20;

bool is_separator(char c) {
  constexpr std::string_view all = ";&|\n\r(){}`";
  return all.find(c) != std::string_view::npos;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

/// Programs and shell keywords that a command follows, directly or later.
bool is_wrapper(std::string_view word) {
  constexpr auto all = std::to_array<std::string_view>(
      {"sudo",    "doas",    "su",      "env",     "nohup",    "nice",        "ionice",   "time",
       "timeout", "exec",    "command", "builtin", "xargs",    "parallel",    "stdbuf",   "setsid",
       "chroot",  "unshare", "nsenter", "strace",  "watch",    "busybox",     "eval",     "sh",
       "bash",    "dash",    "zsh",     "ksh",     "ash",      "find",        "fd",       "flock",
       "chrt",    "taskset", "runuser", "script",  "ssh",      "then",        "do",       "else",
       "elif",    "if",      "while",   "until",   "trap",     "coproc",      "alias",    "pkexec",
       "setpriv", "prlimit", "tini",    "gosu",    "fakeroot", "systemd-run", "unbuffer", "toybox",
       "setarch", "numactl", "ltrace",  "bwrap",   "firejail", "rlwrap",      "sg",       "quell"});
  return word == "!" || std::find(all.begin(), all.end(), word) != all.end();
}

/// True if it reads its commands from its input when it has no argument.
bool is_shell(std::string_view word) {
  constexpr auto all = std::to_array<std::string_view>(
      {"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", ".", "source"});
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::string_view without_path(std::string_view word) {
  const auto slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const auto name = word.substr(0, word[equals - 1] == '+' ? equals - 1 : equals);
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
}

bool is_redirection(std::string_view word) {
  const auto at = word.find_first_not_of("0123456789");
  return at != std::string_view::npos && (word[at] == '<' || word[at] == '>');
}

/// The line as the shell sees it after removing quotes, backslashes and continued lines; `$IFS` becomes a blank.
std::string plain(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("${IFS}")) {
      out += ' ';
      i += 5;
    } else if (line.substr(i).starts_with("$IFS")) {
      out += ' ';
      i += 3;
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      if (line[i] != '\n') out += line[i];
    } else if (line[i] == '$' && i + 1 < line.size() && (line[i + 1] == '\'' || line[i + 1] == '"')) {
      continue;
    } else if (line[i] != '\'' && line[i] != '"') {
      out += line[i];
    }
  }
  return out;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_blank(text[at])) ++at;
    auto end = at;
    while (end < text.size() && !is_blank(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string joined(const std::vector<std::string_view>& words, std::size_t from, std::string_view first) {
  std::string text(first);
  for (std::size_t i = from + 1; i < words.size(); ++i) text.append(" ").append(words[i]);
  return text;
}

class collector {
 public:
  explicit collector(std::string_view line) {
    if (!line.empty()) add(std::string(line));
  }

  void take_line(std::string_view line) {
    std::size_t begin = 0;
    bool is_piped_to = false;
    for (std::size_t i = 0; i <= line.size(); ++i) {
      if (i < line.size() && !is_separator(line[i])) continue;
      const char before = begin == 0 ? '\n' : line[begin - 1];
      const auto text = line.substr(begin, i - begin);
      take_command(text, is_piped_to);
      // `2>&1 rm x`, `>|file rm x`: this apparent separator belongs to a redirection, whose target comes first.
      if (begin >= 2 && (before == '&' || before == '|') && (line[begin - 2] == '>' || line[begin - 2] == '<'))
        if (const auto words = words_of(text); words.size() > 1)
          take_command(text.substr(static_cast<std::size_t>(words[1].data() - text.data())), false);
      if (i < line.size()) is_piped_to = pipes(line[i], text, is_piped_to);
      begin = i + 1;
    }
  }
  std::vector<std::string> texts() { return std::move(texts_); }

 private:
  void add(std::string text) {
    bytes_ += text.size();
    if (texts_.size() < most_texts && bytes_ <= most_bytes) {
      texts_.push_back(std::move(text));
    } else if (!overflown_) {
      overflown_ = true;
      texts_.emplace_back(); // too large to analyse: a human is asked
    }
  }

  /// True if a pipe leads to the part after this separator: `a | b`, `a |& b`, `a | (b)`, but not `a || b`.
  static bool pipes(char separator, std::string_view before, bool is_piped_to) {
    if (separator == '|') return !(before.empty() && is_piped_to);
    const bool opens = separator == '(' || separator == '{' || separator == '&';
    return is_piped_to && opens && words_of(before).empty();
  }

  void take_command(std::string_view text, bool is_piped_to) {
    const auto words = words_of(text);
    std::size_t at = 0;
    while (at < words.size()) {
      if (is_assignment(words[at])) {
        ++at;
      } else if (is_redirection(words[at])) {
        at += words[at].find_last_of("<>&") + 1 == words[at].size() ? 2 : 1;
      } else {
        break;
      }
    }
    if (at >= words.size()) return;
    const auto name = add_from(words, at);
    // The piped input is the script.
    if (is_piped_to && is_shell(name)) add({});
    // `sh <(…)`, and the file of `sh < x`
    if (is_shell(name) && words.back().ends_with('<')) add({});
    if (!is_wrapper(name)) return;
    for (auto i = at + 1; i < words.size() && !overflown_; ++i) {
      const auto inner = add_from(words, i);
      if (is_piped_to && is_shell(inner)) add({});
      // `alias x='rm y'`, `env X='rm y'`
      if (const auto equals = words[i].find('='); equals != std::string_view::npos && equals + 1 < words[i].size())
        add(joined(words, i, words[i].substr(equals + 1)));
    }
  }

  /// Adds the command that begins at this word, with and without its path; returns the name of its program.
  std::string_view add_from(const std::vector<std::string_view>& words, std::size_t at) {
    const auto word = words[at];
    const auto name = without_path(word);
    add(joined(words, at, word));
    if (name != word) add(joined(words, at, name));
    // Only the shell knows which program this is.
    if (word.find_first_of("$*?[") != std::string_view::npos && word != "[" && word != "[[") add({});
    return name;
  }

  std::vector<std::string> texts_;
  std::size_t bytes_ = 0;
  bool overflown_ = false;
};

} // namespace

std::vector<std::string> commands_of(std::string_view line) {
  collector c(line);
  c.take_line(line);
  if (const auto bare = plain(line); bare != line) c.take_line(bare);
  return c.texts();
}

} // namespace quell::controller::turns
