// Starts quell-guardian with posix_spawn in its own session, with only its socket, and waits for its report.
#include "worker/guardian/launch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "worker/guardian/life_lock.hpp"
#include "worker/guardian/processes.hpp"
#include "worker/guardian/system.hpp"
#include "worker/guardian/wire.hpp"

namespace quell::worker {
namespace {

constexpr int report_limit_ms = 10'000;

int spawn_program(const guardian_client::options& o, int socket, int life, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, socket, 3); // first: the socket itself can be one of 0 to 2
  if (life >= 0)
    ::posix_spawn_file_actions_adddup2(&files, life, 4);
  else
    ::posix_spawn_file_actions_addopen(&files, 4, "/dev/null", O_RDWR, 0);
  for (int fd = 0; fd < 3; ++fd) ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 5);
  sigset_t all, none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const std::string level(o.forced ? name_of(*o.forced) : "strongest");
  const std::string sandbox = o.sandbox.on ? std::to_string(o.sandbox.capabilities) : "off";
  std::vector<const char*> argv = {"quell-guardian", o.subtree.c_str(), level.c_str(), sandbox.c_str(),
                                   o.sandbox.workspaces.c_str()};
  for (const auto& directory : o.sandbox.hidden) argv.push_back(directory.c_str());
  argv.push_back(nullptr);
  char* const no_environment[] = {nullptr};
  const int error =
      ::posix_spawn(&pid, o.binary.c_str(), &files, &attributes, const_cast<char* const*>(argv.data()), no_environment);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

} // namespace

result<launched_guardian> launch_guardian(const guardian_client::options& o) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return failure("guardian_failed", "cannot make the guardian's socket: " + errno_text(errno));
  launched_guardian out;
  out.socket.reset(ends[0]);
  unique_fd far(ends[1]);
  unique_fd life;
  if (!o.lock.empty()) {
    auto opened = life_lock::open(o.lock);
    if (!opened) return tl::unexpected(opened.error());
    life.reset(::fcntl(opened->get(), F_DUPFD_CLOEXEC, 10)); // moved away from the numbers that the child uses
    if (!life) return failure("guardian_failed", "cannot keep " + o.lock + " open: " + errno_text(errno));
  }
  for (const int fd : ends) {
    const int size = 1 << 20;
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  }
  if (const int error = spawn_program(o, far.get(), life.get(), out.pid); error != 0)
    return failure("guardian_failed",
                   "cannot start " + o.binary + ": " + errno_text(error) + "; it belongs beside quell-worker");
  far.reset();
  out.pidfd.reset(open_pidfd(out.pid));

  const auto reap = [&] { ::waitpid(out.pid, nullptr, 0); };
  pollfd report{out.socket.get(), POLLIN, 0};
  const auto end = boot_now() + std::chrono::milliseconds{report_limit_ms};
  int ready = 0;
  do {
    const auto left = std::max<std::int64_t>((end - boot_now()).count() / 1'000'000, 0);
    ready = ::poll(&report, 1, static_cast<int>(left));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) {
    ::kill(out.pid, SIGKILL); // it has started nothing yet
    reap();
    return failure("guardian_failed", "the guardian did not report within 10 s");
  }
  std::string datagram(datagram_limit_bytes, '\0');
  const ssize_t got = ::recv(out.socket.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
  if (got <= 0) {
    reap();
    return failure("guardian_failed", "the guardian ended before it reported");
  }
  datagram.resize(static_cast<std::size_t>(got));
  auto found = decode_report(datagram);
  if (!found) {
    out.socket.reset();
    reap();
    return tl::unexpected(found.error());
  }
  out.report = std::move(*found);
  return out;
}

} // namespace quell::worker
