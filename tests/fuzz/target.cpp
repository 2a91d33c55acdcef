// The list of targets, and the report of a broken promise.
#include "tests/fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>

namespace quell::fuzz {

std::vector<target>& targets() {
  static std::vector<target> all;
  return all;
}

void broken(std::string_view promise) {
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

} // namespace quell::fuzz
