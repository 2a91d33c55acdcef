// Makes fresh ids. The only file of this room, besides `socket*`, that asks the clock or the kernel for anything; it
// has its own object file, so that the deterministic simulation can replace it.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sys/random.h>
#include <unistd.h>

#include "protocol/id.hpp"

namespace quell {

namespace {

/// Kernel randomness, fetched in pages: one system call serves about 400 ids.
class random_pool {
 public:
  void take(std::uint8_t* out, std::size_t count) {
    // A forked child must not hand out the same bytes as its parent.
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
        // Repeated ids would mix up operations, so the process cannot continue.
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
constexpr std::int64_t largest_step_back_ms = 10'000; // a larger step back of the clock is followed

/// The clock part and counter of the last id, so that the ids of one process increase even within a millisecond (RFC
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
          static_cast<std::uint16_t>(((random[0] << 8) | random[1]) & 0x7ff); // the upper half stays free for counting
    } else if (++counter == counter_limit) {
      ++last_ms;
      counter = 0;
    }
    random[0] = static_cast<std::uint8_t>(counter >> 8);
    random[1] = static_cast<std::uint8_t>(counter & 0xff);
    return make_uuid7(wall_time{milliseconds{last_ms}}, random);
  }
};

} // namespace

uuid_bytes fresh_uuid7() {
  static generator the_generator;
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  return the_generator.next(now.time_since_epoch().count());
}

} // namespace quell
