// clone3, the boot clock and small files.
#include "worker/guardian/system.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace quell::worker {
namespace {

int proc_directory = -1; // the guardian and its keepers have one thread each

std::string read_and_close(int fd, std::size_t limit) {
  std::string out;
  if (fd < 0) return out;
  char piece[4096];
  while (out.size() < limit) {
    const ssize_t n = ::read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(piece, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return out;
}

} // namespace

pid_t clone_process(std::uint64_t flags, int cgroup) {
  clone_args args{};
  args.flags = flags;
  args.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  long pid = ::syscall(SYS_clone3, &args, sizeof args);
  // In a sandbox that cannot inspect clone3 (ours, docker's) it is unavailable; only a birth in a cgroup needs it.
  if (pid < 0 && errno == ENOSYS && cgroup < 0)
    pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  return pid < 0 ? -errno : static_cast<pid_t>(pid);
}

boot_time boot_now() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return {t.tv_sec * 1'000'000'000LL + t.tv_nsec};
}

std::string errno_text(int error) {
  const char* name = strerrorname_np(error);
  const char* text = strerrordesc_np(error);
  std::string out = text ? text : "unknown error";
  if (name) out += " (" + std::string(name) + ")";
  return out;
}

std::string read_small_file(int dir, const char* path, std::size_t limit) {
  return read_and_close(::openat(dir, path, O_RDONLY | O_CLOEXEC), limit);
}

std::string read_proc(const char* path, std::size_t limit) { return read_and_close(open_proc(path, O_RDONLY), limit); }

int open_proc(const char* path, int flags) {
  if (proc_directory >= 0) return ::openat(proc_directory, path, flags | O_CLOEXEC);
  constexpr std::string_view root = "/proc/";
  char whole[128];
  const auto size = std::strlen(path);
  if (root.size() + size >= sizeof whole) return -1;
  std::memcpy(whole, root.data(), root.size());
  std::memcpy(whole + root.size(), path, size + 1);
  return ::open(whole, flags | O_CLOEXEC);
}

void reach_proc_through(int directory) { proc_directory = directory; }

int write_small_file(int dir, const char* path, std::string_view text) {
  const int fd = ::openat(dir, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t n = ::write(fd, text.data(), text.size());
  const int error = n < 0 ? errno : 0;
  ::close(fd);
  return error;
}

} // namespace quell::worker
