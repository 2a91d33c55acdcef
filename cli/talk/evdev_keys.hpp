// Keys of a keyboard as the kernel reports them (linux/input.h), also while another window has the focus: names, and
// presses and releases in the bytes of a device. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::cli {

/// A code of linux/input-event-codes.h.
enum class evdev_key : std::uint16_t {};

/// `KEY_F9`, `KEY_RIGHTCTRL`, …, or `KEY_` and a number; nullopt otherwise.
std::optional<evdev_key> evdev_key_named(std::string_view name);
std::string name_of_key(evdev_key key);
/// The character that a terminal gets from the same key; nullopt: none that `quell talk` could know.
std::optional<char> character_of(evdev_key key);

/// A key, and the device on which it counts; "" = any.
struct hotkey {
  evdev_key key{};
  std::string device;
};
/// `KEY_F9`, or `KEY_F9@/dev/input/event3`.
std::optional<hotkey> hotkey_named(std::string_view text);

struct key_event {
  evdev_key key{};
  bool is_down = false;
  friend bool operator==(const key_event&, const key_event&) = default;
};

/// Records can come split. Repeats of a held key and everything that is not a key are left out.
class key_event_reader {
 public:
  std::vector<key_event> read(std::string_view bytes);

 private:
  std::string rest_;
};

} // namespace quell::cli
