// The local terminal in raw mode for `--pty`, or with single keys for `quell talk`, restored on every way out.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace quell::cli {

enum class terminal_mode : std::uint8_t {
  raw,        ///< every byte to the program
  single_keys ///< each key at once and unseen; signals and output as usual
};

class raw_terminal {
 public:
  /// Sets the mode if standard input is a terminal; otherwise it does nothing.
  explicit raw_terminal(terminal_mode how = terminal_mode::raw);
  ~raw_terminal();
  raw_terminal(const raw_terminal&) = delete;
  raw_terminal& operator=(const raw_terminal&) = delete;

  bool active() const { return active_; }
  void restore();

 private:
  bool active_ = false;
};

/// Rows and columns of the terminal on standard input or output.
std::optional<std::pair<int, int>> window_size();

} // namespace quell::cli
