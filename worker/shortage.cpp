// Tries six pipe ends and one process. A shortage in the guardian shows only with the next task.
#include "worker/shortage.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quell::worker {

std::optional<std::string> shortage_here() {
  const auto failed = [](const char* what) {
    return std::string("the worker cannot make ") + what + ": " + std::strerror(errno);
  };
  std::array<unique_fd, 6> ends;
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) < 0) return failed("pipes");
    ends[i].reset(fds[0]);
    ends[i + 1].reset(fds[1]);
  }
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  if (child < 0) return failed("a process");
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

bool descriptor_reserve::take() {
  for (auto& one : kept_) {
    if (!one) one.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) return false;
  }
  return true;
}

void descriptor_reserve::release() {
  for (auto& one : kept_) one.reset();
}

} // namespace quell::worker
