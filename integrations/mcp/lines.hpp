// Splits bytes that arrive in arbitrary pieces into lines of bounded length.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace quell::integrations {

class line_splitter {
 public:
  /// `most`: bytes of a line without its line end.
  explicit line_splitter(std::size_t most) : most_(most) {}

  struct sink {
    std::function<void(std::string_view line)> line; ///< without LF or CR LF; empty lines are dropped
    /// Called for a longer line with its first and last bytes (at most 512 each).
    std::function<void(std::string_view first, std::string_view last)> too_long;
  };
  void take(std::string_view bytes, const sink& out);

 private:
  void end_line(std::string_view rest, const sink& out);

  const std::size_t most_;
  std::string line_;
  std::string first_, last_; ///< of a line that is already too long
  bool over_ = false;
};

} // namespace quell::integrations
