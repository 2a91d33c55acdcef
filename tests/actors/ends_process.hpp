// Whether a step ends the process: it is taken in a child process, so that the test lives on.
#pragma once

#include <exception>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace quell::testing {

/// True if `step` calls std::terminate. At most a minute.
inline bool ends_process(const std::function<void()>& step) {
  constexpr int by_terminate = 86;
  constexpr unsigned bound_seconds = 60;
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::alarm(bound_seconds);
    std::set_terminate([] { ::_exit(by_terminate); });
    try {
      step();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == by_terminate;
}

} // namespace quell::testing
