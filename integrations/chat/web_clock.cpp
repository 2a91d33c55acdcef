// The clock of the connectors.
#include <ctime>

#include "integrations/chat/web.hpp"

namespace quell::integrations::chat {

boot_time web_loop::now() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

} // namespace quell::integrations::chat
