// References to mount namespaces, and the child that lets go of them.
#include "worker/guardian/lingering_mounts.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "worker/guardian/processes.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

/// Nothing else of the guardian's may live on in the child: not its lock, not its ends of the worker's and the keepers'
/// sockets.
void close_all_but(const std::vector<unique_fd>& kept) {
  unsigned from = 0;
  for (const auto& fd : kept) {
    const auto next = static_cast<unsigned>(fd.get());
    if (next > from) ::close_range(from, next - 1, 0);
    from = next + 1;
  }
  ::close_range(from, ~0U, 0);
}

} // namespace

unique_fd lingering_mounts::hold(pid_t process) {
  constexpr unsigned long mount_namespace_of_pidfd = _IO(0xFF, 3); // PIDFD_GET_MNT_NAMESPACE, since Linux 6.11
  const int pidfd = open_pidfd(process);
  if (pidfd < 0) return {};
  const unique_fd of(pidfd);
  if (const int held = ::ioctl(of.get(), mount_namespace_of_pidfd, 0); held >= 0) return unique_fd(held);
  char path[32]; // slower: the kernel removes each path of /proc that was looked up when the process is reaped
  std::snprintf(path, sizeof path, "%d/ns/mnt", process);
  return unique_fd(open_proc(path, O_RDONLY));
}

void lingering_mounts::add(unique_fd held) {
  if (held) held_.push_back(std::move(held));
}

void lingering_mounts::let_go() {
  std::sort(held_.begin(), held_.end(), [](const auto& a, const auto& b) { return a.get() < b.get(); });
  if (!held_.empty() && clone_process(0, -1) == 0) {
    ::prctl(PR_SET_NAME, "quell-mounts");
    close_all_but(held_);
    ::_exit(0); // closes the rest
  }
  held_.clear();
}

} // namespace quell::worker
