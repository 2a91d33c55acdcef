// UUIDv7 made, written and read. The only file of this room that asks the clock or the kernel for anything.
#include "protocol/id.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sys/random.h>
#include <unistd.h>

namespace quell {

namespace {

/// Kernel randomness, fetched in pages: one system call serves some 400 ids.
class random_pool {
 public:
  void take(std::uint8_t* out, std::size_t count) {
    // A forked child must not hand out the bytes that its parent hands out too.
    const pid_t self = ::getpid();
    if (used_ + count > bytes_.size() || self != owner_) refill(self);
    std::memcpy(out, bytes_.data() + used_, count);
    used_ += count;
  }

 private:
  void refill(pid_t self) {
    std::size_t have = 0;
    while (have < bytes_.size()) {
      const ssize_t got = ::getrandom(bytes_.data() + have, bytes_.size() - have, 0);
      if (got > 0) {
        have += static_cast<std::size_t>(got);
      } else if (errno != EINTR) {
        // Ids that could repeat would mix up operations, so nothing can go on.
        std::fputs("quell: the kernel gives no randomness (getrandom failed)\n", stderr);
        std::abort();
      }
    }
    used_ = 0;
    owner_ = self;
  }

  std::array<std::uint8_t, 4096> bytes_{};
  std::size_t used_ = bytes_.size();
  pid_t owner_ = 0;
};

constexpr std::uint16_t counter_limit = 0x1000;       // 12 bits, the rand_a field
constexpr std::int64_t largest_step_back_ms = 10'000; // a clock set back further is followed

/// The clock part and counter of the last id, so that the ids of one process grow also within a millisecond (RFC
/// 9562, 6.2 method 1).
struct generator {
  std::mutex guard;
  random_pool pool;
  std::int64_t last_ms = 0;
  std::uint16_t counter = 0;

  uuid_bytes next(std::int64_t now_ms) {
    const std::lock_guard lock(guard);
    std::array<std::uint8_t, 10> random{};
    pool.take(random.data(), random.size());
    if (now_ms > last_ms || now_ms + largest_step_back_ms < last_ms) {
      last_ms = now_ms;
      counter =
          static_cast<std::uint16_t>(((random[0] << 8) | random[1]) & 0x7ff); // the upper half stays free to count
    } else if (++counter == counter_limit) {
      ++last_ms;
      counter = 0;
    }
    random[0] = static_cast<std::uint8_t>(counter >> 8);
    random[1] = static_cast<std::uint8_t>(counter & 0xff);
    return make_uuid7(wall_time{milliseconds{last_ms}}, random);
  }
};

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_dash_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

} // namespace

uuid_bytes make_uuid7(wall_time at, const std::array<std::uint8_t, 10>& random) {
  const auto ms = static_cast<std::uint64_t>(at.time_since_epoch().count());
  uuid_bytes bytes{};
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  std::memcpy(bytes.data() + 6, random.data(), random.size());
  bytes[6] = static_cast<std::uint8_t>(0x70 | (bytes[6] & 0x0f));
  bytes[8] = static_cast<std::uint8_t>(0x80 | (bytes[8] & 0x3f));
  return bytes;
}

uuid_bytes fresh_uuid7() {
  static generator the_generator;
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  return the_generator.next(now.time_since_epoch().count());
}

std::string uuid_text(const uuid_bytes& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const std::uint8_t byte : bytes) {
    if (is_dash_position(text.size())) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 0xf];
  }
  return text;
}

std::optional<uuid_bytes> parse_uuid7(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  uuid_bytes bytes{};
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_position(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return std::nullopt;
    bytes[nibble / 2] = static_cast<std::uint8_t>((bytes[nibble / 2] << 4) | value);
    ++nibble;
  }
  const bool is_version_7 = (bytes[6] >> 4) == 7;
  const bool is_rfc_variant = (bytes[8] >> 6) == 2;
  if (!is_version_7 || !is_rfc_variant) return std::nullopt;
  return bytes;
}

wall_time uuid_time(const uuid_bytes& bytes) {
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = (ms << 8) | bytes[i];
  return wall_time{milliseconds{ms}};
}

} // namespace quell
