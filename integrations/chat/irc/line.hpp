// One line of IRC: parsing and writing. Pure; accepts any line from a server, within limits.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quell::integrations::chat::irc {

inline constexpr std::size_t most_line_bytes = 512;      ///< of a sent line, including CR LF (RFC 2812)
inline constexpr std::size_t most_read_bytes = 16 << 10; ///< of a received line: 8191 of tags, 512, and some slack
inline constexpr std::size_t most_tags = 64, most_parameters = 32;

struct line {
  std::vector<std::pair<std::string, std::string>> tags; ///< values unescaped
  std::string prefix;                                    ///< `nick!user@host`, or a server name
  std::string command;                                   ///< upper case, or three digits
  std::vector<std::string> parameters;

  /// The nick or server part of the prefix.
  std::string_view nick() const;
  std::string_view tag(std::string_view name) const;
  /// The parameter, or "".
  std::string_view parameter(std::size_t i) const;
};

/// Parses a line without CR LF; nullopt if it contains no command.
std::optional<line> read_line(std::string_view text);

/// A whole line with CR LF, at most `most_line_bytes`: words separated by spaces, then ` :trailing`. Bytes that would
/// end the line or a word (CR, LF, NUL; in words also spaces and a leading colon) cannot get in: in `trailing` they
/// become spaces, and a line with such a word is "".
std::string write_line(std::initializer_list<std::string_view> words,
                       std::optional<std::string_view> trailing = std::nullopt);

/// Splits received bytes into lines. A line that is too long is dropped as a whole.
class line_reader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next line without its line end, or nullopt. Valid until the next call.
  std::optional<std::string_view> next();
  void clear();

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
  bool is_skipping_ = false;
};

} // namespace quell::integrations::chat::irc
