// Asks the system for the host and directory of this process.
#include <unistd.h>

#include <array>

#include "cli/run_request.hpp"

namespace quell::cli {

caller this_caller() {
  caller c;
  std::array<char, 4096> directory{};
  if (::getcwd(directory.data(), directory.size()) != nullptr) c.directory = directory.data();
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) c.host = host.data();
  return c;
}

} // namespace quell::cli
