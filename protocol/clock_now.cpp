// Reads the clocks of the machine.
#include "protocol/clock_now.hpp"

#include <chrono>
#include <ctime>

namespace quell {

moment clock_now() {
  timespec boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  return {std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()),
          boot_time{static_cast<std::int64_t>(boot.tv_sec) * 1'000'000'000 + boot.tv_nsec}};
}

std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

} // namespace quell
