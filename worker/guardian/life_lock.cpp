// flock on the life file: fork inherits open file descriptions, so keepers hold the lock without any action.
#include "worker/guardian/life_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "worker/guardian/system.hpp"

namespace quell::worker::life_lock {
namespace {

std::string content(int fd) {
  char text[256];
  const ssize_t size = ::pread(fd, text, sizeof text, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string boot_id() {
  auto text = read_proc("sys/kernel/random/boot_id", 64);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void write(int fd, const std::string& text) {
  [[maybe_unused]] const int emptied = ::ftruncate(fd, 0);
  [[maybe_unused]] const auto written = ::pwrite(fd, text.data(), text.size(), 0);
}

result<void> lock_within(int fd, int limit_ms) {
  const auto end = boot_now() + std::chrono::milliseconds{limit_ms};
  for (int pause_ms = 2;; pause_ms = std::min(pause_ms * 2, 50)) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK && errno != EINTR)
      return failure("guardian_failed", "cannot lock the worker's life file: " + errno_text(errno));
    if (boot_now() >= end) {
      std::istringstream text(content(fd));
      std::string pid;
      text >> pid;
      return failure("subtree_in_use", "an earlier guardian of this worker (pid " + (pid.empty() ? "unknown" : pid) +
                                           ") or one of its tasks does not end; look at what that process and its "
                                           "children wait for (/proc/PID/stack)");
    }
    ::poll(nullptr, 0, pause_ms);
  }
}

} // namespace

result<unique_fd> open(const std::string& path) {
  unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failure("guardian_failed", "cannot open " + path + ": " + errno_text(errno));
  return fd;
}

result<before> take(int fd, int limit_ms) {
  if (auto locked = lock_within(fd, limit_ms); !locked) return tl::unexpected(locked.error());
  before was;
  was.content = content(fd);
  std::istringstream words(was.content);
  std::string pid, boot, last;
  words >> pid >> boot >> last;
  // An empty file is new; a file without a boot id is from an earlier version, which did not record how it ended.
  const bool same_boot = boot.empty() || boot == boot_id();
  was.ended = was.content.empty() || !same_boot || last == "ended";
  write(fd, std::to_string(::getpid()) + " " + boot_id() + "\n");
  return was;
}

void write_ended(int fd) { write(fd, std::to_string(::getpid()) + " " + boot_id() + " ended\n"); }

void put_back(int fd, const before& content) { write(fd, content.content); }

result<void> await_free(const std::string& path, int limit_ms) {
  if (path.empty()) return {};
  auto fd = open(path);
  if (!fd) return tl::unexpected(fd.error());
  return lock_within(fd->get(), limit_ms);
}

} // namespace quell::worker::life_lock
