// Work in a forked child process.
#include "tests/storage/child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <exception>

namespace quell::storage::test {

std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const auto pid = fork();
  if (pid < 0) return "no fork";
  if (pid == 0) {
    close(ends[0]);
    std::string said;
    try {
      said = body();
    } catch (const std::exception& e) {
      said = std::string("exception: ") + e.what();
    }
    [[maybe_unused]] const auto written = write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) said += "(died of signal " + std::to_string(WTERMSIG(status)) + ")";
  return said;
}

} // namespace quell::storage::test
