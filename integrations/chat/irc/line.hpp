// One line of IRC, read and written. Pure; whatever a server sends is read, with limits.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quell::integrations::chat::irc {

inline constexpr std::size_t most_line_bytes = 512;      ///< of a line that is sent, CR LF included (RFC 2812)
inline constexpr std::size_t most_read_bytes = 16 << 10; ///< of a line that is read: 8191 of tags, 512, and some
inline constexpr std::size_t most_tags = 64, most_parameters = 32;

struct line {
  std::vector<std::pair<std::string, std::string>> tags; ///< values unescaped
  std::string prefix;                                    ///< `nick!user@host`, or a server's name
  std::string command;                                   ///< upper case, or three digits
  std::vector<std::string> parameters;

  /// The part of the prefix that is a nick or server.
  std::string_view nick() const;
  std::string_view tag(std::string_view name) const;
  /// The parameter, or "".
  std::string_view parameter(std::size_t i) const;
};

/// Of a line without CR LF; nullopt if there is no command in it.
std::optional<line> read_line(std::string_view text);

/// A whole line with CR LF, at most `most_line_bytes`: words with blanks between, then ` :trailing`. What would end the
/// line or a word (CR, LF, NUL; in words blanks and a colon in front) cannot get into it: in `trailing` it becomes a
/// blank, and a line with such a word is "".
std::string write_line(std::initializer_list<std::string_view> words,
                       std::optional<std::string_view> trailing = std::nullopt);

/// Bytes in, lines out. A line that is too long is left out as a whole.
class line_reader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next line without its end, or nullopt. Valid until the next call.
  std::optional<std::string_view> next();
  void clear();

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
  bool is_skipping_ = false;
};

} // namespace quell::integrations::chat::irc
