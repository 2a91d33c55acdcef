// Splits bytes that arrive in any pieces into lines of bounded length. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace quell::cli::mcp {

class line_reader {
 public:
  /// `most`: maximum bytes of a line, without its end.
  explicit line_reader(std::size_t most) : most_(most) {}

  struct sink {
    std::function<void(std::string_view line)> line; ///< without LF or CR LF; empty lines are dropped
    std::function<void()> too_long;                  ///< once for each longer line, which is dropped
  };
  void take(std::string_view bytes, const sink& out);
  /// The input is over: a remaining line without an end counts, too.
  void finish(const sink& out);

 private:
  const std::size_t most_;
  std::string line_;
  bool over_ = false;
};

} // namespace quell::cli::mcp
