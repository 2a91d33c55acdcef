// The local terminal in raw mode for `--pty`, restored on every way out.
#pragma once

#include <optional>
#include <utility>

namespace quell::cli {

class raw_terminal {
 public:
  /// Sets raw mode if standard input is a terminal; otherwise it does nothing.
  raw_terminal();
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
