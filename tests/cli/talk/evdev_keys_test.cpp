// Keys of a keyboard for `quell talk`: names, and the kernel's records.
#include <catch2/catch.hpp>
#include <linux/input.h>

#include <cstring>

#include "cli/talk/evdev_keys.hpp"
#include "cli/talk/talk_keys.hpp"

using namespace quell::cli;

namespace {

std::string record(std::uint16_t type, std::uint16_t code, std::int32_t value) {
  input_event e{};
  e.type = type;
  e.code = code;
  e.value = value;
  std::string bytes(sizeof e, '\0');
  std::memcpy(bytes.data(), &e, sizeof e);
  return bytes;
}

} // namespace

TEST_CASE("keys of a keyboard have the kernel's names or numbers, and perhaps a device", "[talk]") {
  CHECK(evdev_key_named("KEY_F9") == evdev_key{KEY_F9});
  CHECK(evdev_key_named("key_rightctrl") == evdev_key{KEY_RIGHTCTRL});
  CHECK(evdev_key_named("KEY_1") == evdev_key{KEY_1});
  CHECK(evdev_key_named("KEY_240") == evdev_key{240});
  CHECK(name_of_key(evdev_key{KEY_F9}) == "KEY_F9");
  CHECK(name_of_key(evdev_key{240}) == "KEY_240");
  CHECK(character_of(evdev_key{KEY_SPACE}) == ' ');
  CHECK(character_of(evdev_key{KEY_ESC}) == escape_key);
  CHECK_FALSE(character_of(evdev_key{KEY_F9}));
  for (const char* bad : {"", "F9", "KEY_", "KEY_NONE", "KEY_99999", "KEY_00", "KEY_12x", "x"})
    CHECK_FALSE(evdev_key_named(bad));
  CHECK(hotkey_named("KEY_F9")->device.empty());
  CHECK(hotkey_named("KEY_F9@/dev/input/event3")->device == "/dev/input/event3");
  CHECK(hotkey_named("KEY_F9@/dev/input/event3")->key == evdev_key{KEY_F9});
  for (const char* bad : {"F9@/dev/x", "KEY_F9@", "KEY_F9@relative", "@/dev/x"}) CHECK_FALSE(hotkey_named(bad));
}

TEST_CASE("presses and releases are read however the records are cut; repeats and other events are left out",
          "[talk]") {
  const auto bytes = record(EV_KEY, KEY_F9, 1) + record(EV_SYN, 0, 0) + record(EV_KEY, KEY_F9, 2) +
                     record(EV_MSC, 4, 9) + record(EV_KEY, KEY_F9, 0) + record(EV_KEY, KEY_F10, 1);
  const std::vector<key_event> wanted{
      {evdev_key{KEY_F9}, true}, {evdev_key{KEY_F9}, false}, {evdev_key{KEY_F10}, true}};
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, sizeof(input_event), bytes.size()}) {
    key_event_reader reader;
    std::vector<key_event> all;
    for (std::size_t at = 0; at < bytes.size(); at += step)
      for (const auto& e : reader.read(std::string_view(bytes).substr(at, step))) all.push_back(e);
    CHECK(all == wanted);
  }
}
