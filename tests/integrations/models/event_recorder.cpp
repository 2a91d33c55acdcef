// Open descriptors of this process.
#include "tests/integrations/models/event_recorder.hpp"

#include <filesystem>

namespace quell::testing {

std::size_t descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1; // without the iterator's own
}

} // namespace quell::testing
