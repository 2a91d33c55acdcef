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
    std::string output;
    try {
      output = body();
    } catch (const std::exception& e) {
      output = std::string("exception: ") + e.what();
    }
    [[maybe_unused]] const auto written = write(ends[1], output.data(), output.size());
    _exit(0);
  }
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;)
    output.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) output += "(died of signal " + std::to_string(WTERMSIG(status)) + ")";
  return output;
}

} // namespace quell::storage::test
