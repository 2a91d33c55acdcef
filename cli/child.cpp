// Starts and watches the children of `quell up`.
#include "cli/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/problem.hpp"

namespace quell::cli {

result<void> start(child& c, const sigset_t& mask) {
  if (::access(c.command.front().c_str(), X_OK) != 0)
    return failure(local_code::local,
                   c.name + ": there is no program " + c.command.front() + " beside this one; install all of quell");
  const int log = ::open(c.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return failure(local_code::local, "the log " + c.log + " cannot be opened: " + std::strerror(errno));
  struct stat about {};
  c.log_offset = ::fstat(log, &about) == 0 ? about.st_size : 0;
  std::vector<char*> words;
  for (auto& word : c.command) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0); // the terminal's Ctrl-C is for the parent alone
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1); // the parent died between the fork and the line above
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    if (nothing > STDERR_FILENO) ::close(nothing);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::execv(words.front(), words.data());
    ::_exit(127);
  }
  ::close(log);
  if (pid < 0) return failure(local_code::local, c.name + " cannot be started: " + std::strerror(errno));
  ::setpgid(pid, pid);
  c.pid = pid;
  return {};
}

std::string ending_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) return std::string("signal ") + ::sigabbrev_np(WTERMSIG(wait_status));
  return "exit code " + std::to_string(WEXITSTATUS(wait_status));
}

std::string log_tail(const child& c, std::size_t lines) {
  std::ifstream in(c.log, std::ios::binary);
  in.seekg(0, std::ios::end);
  const std::int64_t end = in.tellg(), begin = std::max<std::int64_t>(c.log_offset, end - 8192);
  if (end <= begin) return {};
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  in.seekg(begin);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::size_t at = text.size();
  if (text.ends_with('\n')) --at;
  while (at > 0 && lines-- > 0) {
    const auto found = text.rfind('\n', at - 1);
    if (found == std::string::npos) return text;
    at = found;
  }
  return at == 0 ? text : text.substr(at + 1);
}

std::string own_directory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

} // namespace quell::cli
