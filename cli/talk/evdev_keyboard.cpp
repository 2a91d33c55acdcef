// Devices are read without grabbing them: everybody else gets the same keys.
#include "cli/talk/evdev_keyboard.hpp"

#include <fcntl.h>
#include <linux/input.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace quell::cli {

namespace {

constexpr std::size_t most_devices = 64;

int open_for_reading(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }

bool has_one_of(int device, const std::vector<evdev_key>& keys) {
  std::array<std::uint8_t, KEY_MAX / 8 + 1> bits{};
  if (::ioctl(device, EVIOCGBIT(EV_KEY, bits.size()), bits.data()) < 0) return false;
  return std::any_of(keys.begin(), keys.end(), [&](evdev_key key) {
    const auto code = static_cast<std::size_t>(key);
    return code <= KEY_MAX && (bits[code / 8] >> (code % 8) & 1U) != 0;
  });
}

std::vector<int> open_keyboards(const std::vector<evdev_key>& keys) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/input", none))
    if (entry.path().filename().string().starts_with("event")) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<int> open;
  for (const auto& path : paths) {
    const int device = open.size() < most_devices ? open_for_reading(path) : -1;
    if (device < 0) continue;
    if (has_one_of(device, keys))
      open.push_back(device);
    else
      ::close(device);
  }
  return open;
}

} // namespace

answer<std::unique_ptr<evdev_keyboard>> evdev_keyboard::open(event_loop& loop, const std::vector<hotkey>& keys,
                                                             std::function<void(const key_event&)> happened) {
  std::set<std::string> named;
  std::vector<evdev_key> anywhere;
  for (const auto& k : keys)
    if (k.device.empty())
      anywhere.push_back(k.key);
    else
      named.insert(k.device);
  auto made = std::unique_ptr<evdev_keyboard>(new evdev_keyboard(loop, std::move(happened)));
  for (const auto& path : named) {
    const int device = open_for_reading(path);
    if (device < 0)
      return refuse(local_code::usage, "the keyboard " + path + " cannot be read: " + std::strerror(errno));
    made->devices_.push_back({device});
  }
  const auto found = anywhere.empty() ? std::vector<int>() : open_keyboards(anywhere);
  for (const int device : found) made->devices_.push_back({device});
  if (!anywhere.empty() && found.empty())
    return refuse(local_code::local, "no keyboard in /dev/input that has " + name_of_key(anywhere.front()) +
                                         " can be read; join the group input, or name a device: " +
                                         name_of_key(anywhere.front()) + "@/dev/input/eventN");
  for (auto& d : made->devices_)
    loop.watch(d.descriptor, ready_for::reading, [self = made.get(), &d] { self->read(d); });
  return made;
}

evdev_keyboard::evdev_keyboard(event_loop& loop, std::function<void(const key_event&)> happened)
    : loop_(loop), happened_(std::move(happened)) {}

evdev_keyboard::~evdev_keyboard() {
  for (auto& d : devices_) close(d);
}

void evdev_keyboard::close(device& which) {
  if (which.descriptor < 0) return;
  loop_.unwatch(which.descriptor);
  ::close(std::exchange(which.descriptor, -1));
}

void evdev_keyboard::read(device& from) {
  std::array<char, 64 * sizeof(input_event)> bytes{};
  const auto n = ::read(from.descriptor, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) return close(from); // unplugged
  for (const auto& event : from.reader.read({bytes.data(), static_cast<std::size_t>(n)})) happened_(event);
}

} // namespace quell::cli
