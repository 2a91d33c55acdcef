// Opens a person's browser: the address is an argument, never a line for a shell.
#include "cli/browser.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>

extern char** environ;

namespace quell::cli {
namespace {

bool is_plain_address(const std::string& address) {
  return (address.starts_with("https://") || address.starts_with("http://")) &&
         std::none_of(address.begin(), address.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; });
}

} // namespace

bool open_browser(const std::string& address, const environment& env) {
  if (!is_plain_address(address)) return false;
  auto program = env("BROWSER");
  if (!program && (env("DISPLAY") || env("WAYLAND_DISPLAY"))) program = "xdg-open";
  if (!program) return false;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string words[2] = {*program, address};
  char* arguments[3] = {words[0].data(), words[1].data(), nullptr};
  pid_t pid = 0;
  const bool started = ::posix_spawnp(&pid, words[0].c_str(), &files, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  return started;
}

} // namespace quell::cli
