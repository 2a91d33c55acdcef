// Switches the terminal to raw mode and back.
#include "cli/raw_terminal.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

namespace quell::cli {
namespace {

// One terminal per process; atexit needs it without an object.
termios saved{};
bool is_raw = false;

void put_back() {
  if (!is_raw) return;
  is_raw = false;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
}

} // namespace

raw_terminal::raw_terminal(terminal_mode how) {
  if (::isatty(STDIN_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &saved) != 0) return;
  static const bool registered = std::atexit(put_back) == 0;
  (void)registered;
  termios raw = saved;
  if (how == terminal_mode::raw)
    ::cfmakeraw(&raw);
  else
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  active_ = is_raw = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

raw_terminal::~raw_terminal() { restore(); }

void raw_terminal::restore() {
  if (active_) put_back();
  active_ = false;
}

std::optional<std::pair<int, int>> window_size() {
  winsize size{};
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
      return std::pair<int, int>{size.ws_row, size.ws_col};
  return std::nullopt;
}

} // namespace quell::cli
