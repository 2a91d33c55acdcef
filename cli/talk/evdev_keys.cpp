// The names that people are likely to use, and the kernel's record of an event.
#include "cli/talk/evdev_keys.hpp"

#include <linux/input.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "cli/talk/talk_keys.hpp"

namespace quell::cli {

namespace {

struct named_key {
  std::string_view name;
  std::uint16_t code;
  char character; ///< of a terminal; 0 = none
};

#define QUELL_KEY(name, character)                                                                                     \
  { #name, name, character }
constexpr named_key named_keys[] = {
    QUELL_KEY(KEY_ESC, escape_key), QUELL_KEY(KEY_SPACE, ' '),   QUELL_KEY(KEY_TAB, '\t'),
    QUELL_KEY(KEY_ENTER, '\n'),     QUELL_KEY(KEY_1, '1'),       QUELL_KEY(KEY_2, '2'),
    QUELL_KEY(KEY_3, '3'),          QUELL_KEY(KEY_4, '4'),       QUELL_KEY(KEY_5, '5'),
    QUELL_KEY(KEY_6, '6'),          QUELL_KEY(KEY_7, '7'),       QUELL_KEY(KEY_8, '8'),
    QUELL_KEY(KEY_9, '9'),          QUELL_KEY(KEY_0, '0'),       QUELL_KEY(KEY_A, 'a'),
    QUELL_KEY(KEY_B, 'b'),          QUELL_KEY(KEY_C, 'c'),       QUELL_KEY(KEY_D, 'd'),
    QUELL_KEY(KEY_E, 'e'),          QUELL_KEY(KEY_F, 'f'),       QUELL_KEY(KEY_G, 'g'),
    QUELL_KEY(KEY_H, 'h'),          QUELL_KEY(KEY_I, 'i'),       QUELL_KEY(KEY_J, 'j'),
    QUELL_KEY(KEY_K, 'k'),          QUELL_KEY(KEY_L, 'l'),       QUELL_KEY(KEY_M, 'm'),
    QUELL_KEY(KEY_N, 'n'),          QUELL_KEY(KEY_O, 'o'),       QUELL_KEY(KEY_P, 'p'),
    QUELL_KEY(KEY_Q, 'q'),          QUELL_KEY(KEY_R, 'r'),       QUELL_KEY(KEY_S, 's'),
    QUELL_KEY(KEY_T, 't'),          QUELL_KEY(KEY_U, 'u'),       QUELL_KEY(KEY_V, 'v'),
    QUELL_KEY(KEY_W, 'w'),          QUELL_KEY(KEY_X, 'x'),       QUELL_KEY(KEY_Y, 'y'),
    QUELL_KEY(KEY_Z, 'z'),          QUELL_KEY(KEY_F1, 0),        QUELL_KEY(KEY_F2, 0),
    QUELL_KEY(KEY_F3, 0),           QUELL_KEY(KEY_F4, 0),        QUELL_KEY(KEY_F5, 0),
    QUELL_KEY(KEY_F6, 0),           QUELL_KEY(KEY_F7, 0),        QUELL_KEY(KEY_F8, 0),
    QUELL_KEY(KEY_F9, 0),           QUELL_KEY(KEY_F10, 0),       QUELL_KEY(KEY_F11, 0),
    QUELL_KEY(KEY_F12, 0),          QUELL_KEY(KEY_F13, 0),       QUELL_KEY(KEY_F14, 0),
    QUELL_KEY(KEY_F15, 0),          QUELL_KEY(KEY_F16, 0),       QUELL_KEY(KEY_F17, 0),
    QUELL_KEY(KEY_F18, 0),          QUELL_KEY(KEY_F19, 0),       QUELL_KEY(KEY_F20, 0),
    QUELL_KEY(KEY_F21, 0),          QUELL_KEY(KEY_F22, 0),       QUELL_KEY(KEY_F23, 0),
    QUELL_KEY(KEY_F24, 0),          QUELL_KEY(KEY_LEFTCTRL, 0),  QUELL_KEY(KEY_RIGHTCTRL, 0),
    QUELL_KEY(KEY_LEFTALT, 0),      QUELL_KEY(KEY_RIGHTALT, 0),  QUELL_KEY(KEY_LEFTSHIFT, 0),
    QUELL_KEY(KEY_RIGHTSHIFT, 0),   QUELL_KEY(KEY_LEFTMETA, 0),  QUELL_KEY(KEY_RIGHTMETA, 0),
    QUELL_KEY(KEY_CAPSLOCK, 0),     QUELL_KEY(KEY_NUMLOCK, 0),   QUELL_KEY(KEY_SCROLLLOCK, 0),
    QUELL_KEY(KEY_PAUSE, 0),        QUELL_KEY(KEY_SYSRQ, 0),     QUELL_KEY(KEY_INSERT, 0),
    QUELL_KEY(KEY_DELETE, 0),       QUELL_KEY(KEY_HOME, 0),      QUELL_KEY(KEY_END, 0),
    QUELL_KEY(KEY_PAGEUP, 0),       QUELL_KEY(KEY_PAGEDOWN, 0),  QUELL_KEY(KEY_UP, 0),
    QUELL_KEY(KEY_DOWN, 0),         QUELL_KEY(KEY_LEFT, 0),      QUELL_KEY(KEY_RIGHT, 0),
    QUELL_KEY(KEY_MENU, 0),         QUELL_KEY(KEY_STOP, 0),      QUELL_KEY(KEY_CANCEL, 0),
    QUELL_KEY(KEY_MICMUTE, 0),      QUELL_KEY(KEY_PLAYPAUSE, 0), QUELL_KEY(KEY_STOPCD, 0),
};
#undef QUELL_KEY

constexpr std::string_view head = "KEY_";

} // namespace

std::optional<evdev_key> evdev_key_named(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const auto& k : named_keys)
    if (k.name == upper) return evdev_key{k.code};
  if (!upper.starts_with(head) || upper.size() < head.size() + 2) return std::nullopt; // KEY_7 is a digit
  std::uint16_t code = 0;
  const auto* end = upper.data() + upper.size();
  const auto [at, bad] = std::from_chars(upper.data() + head.size(), end, code);
  if (bad != std::errc{} || at != end || code == 0 || code > KEY_MAX) return std::nullopt;
  return evdev_key{code};
}

std::optional<hotkey> hotkey_named(std::string_view text) {
  const auto at = text.find('@');
  const auto key = evdev_key_named(text.substr(0, at));
  if (!key) return std::nullopt;
  const auto device = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  if (at != std::string_view::npos && !device.starts_with('/')) return std::nullopt;
  return hotkey{*key, std::string(device)};
}

std::string name_of_key(evdev_key key) {
  const auto code = static_cast<std::uint16_t>(key);
  for (const auto& k : named_keys)
    if (k.code == code) return std::string(k.name);
  return std::string(head) + std::to_string(code);
}

std::optional<char> character_of(evdev_key key) {
  for (const auto& k : named_keys)
    if (k.code == static_cast<std::uint16_t>(key) && k.character != 0) return k.character;
  return std::nullopt;
}

std::vector<key_event> key_event_reader::read(std::string_view bytes) {
  constexpr std::int32_t released = 0, pressed = 1;
  rest_ += bytes;
  std::vector<key_event> events;
  std::size_t at = 0;
  for (input_event e{}; rest_.size() - at >= sizeof e; at += sizeof e) {
    std::memcpy(&e, rest_.data() + at, sizeof e);
    if (e.type == EV_KEY && (e.value == released || e.value == pressed))
      events.push_back({evdev_key{e.code}, e.value == pressed});
  }
  rest_.erase(0, at);
  return events;
}

} // namespace quell::cli
