// The keyboards of this machine, read beside the terminal.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/http.hpp"
#include "cli/problem.hpp"
#include "cli/talk/evdev_keys.hpp"

namespace quell::cli {

class evdev_keyboard {
 public:
  /// Opens the named devices, and for keys without one each /dev/input/event* that has such a key. Faults: `usage` (a
  /// named device cannot be read), `local` (no other one can).
  static answer<std::unique_ptr<evdev_keyboard>> open(event_loop& loop, const std::vector<hotkey>& keys,
                                                      std::function<void(const key_event&)> happened);
  ~evdev_keyboard();
  evdev_keyboard(const evdev_keyboard&) = delete;
  evdev_keyboard& operator=(const evdev_keyboard&) = delete;

 private:
  struct device {
    int descriptor = -1;
    key_event_reader reader{};
  };
  evdev_keyboard(event_loop& loop, std::function<void(const key_event&)> happened);
  void read(device& from);
  void close(device& which);

  event_loop& loop_;
  std::function<void(const key_event&)> happened_;
  std::vector<device> devices_;
};

} // namespace quell::cli
