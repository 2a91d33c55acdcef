// quell-guardian SUBTREE LEVEL: started by a worker with a socket as descriptor 3; nobody else has a use for it.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "worker/guardian/earlier_life.hpp"
#include "worker/guardian/guardian.hpp"
#include "worker/guardian/probe.hpp"

namespace {

using namespace quell;
using namespace quell::worker;

/// The worker's socket, out of the way of the reserved places, which are filled with /dev/null.
unique_fd take_descriptors() {
  unique_fd worker(::fcntl(3, F_DUPFD_CLOEXEC, reserved_descriptors));
  const int null = ::open("/dev/null", O_RDWR);
  if (null >= 0)
    for (int fd = 0; fd < reserved_descriptors; ++fd)
      if (fd != null) ::dup2(null, fd);
  ::close_range(static_cast<unsigned>(reserved_descriptors), static_cast<unsigned>(worker.get()) - 1, 0);
  ::close_range(static_cast<unsigned>(worker.get()) + 1, ~0U, 0);
  return worker;
}

/// A terminal's signals are for the worker, and nobody ends the guardian but its worker: only SIGKILL does.
void block_signals() {
  for (int number = 1; number < 65; ++number) ::signal(number, SIG_DFL);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

std::uint64_t raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) < 0) return 0;
  const auto before = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return before;
}

int fail(int worker, const std::string& why) {
  const auto said = encode_launch_failure(why);
  ::send(worker, said.data(), said.size(), MSG_NOSIGNAL);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  struct stat socket {};
  if (argc != 3 || ::fstat(3, &socket) < 0 || !S_ISSOCK(socket.st_mode)) {
    std::fputs("quell-guardian is started by quell-worker, which see.\n", stderr);
    return 2;
  }
  guardian::options options;
  options.worker = take_descriptors();
  block_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  options.open_files_limit = raise_open_files();
  [[maybe_unused]] const int moved = ::chdir("/");

  if (auto alone = await_earlier_life(argv[1], 6000); !alone) return fail(options.worker.get(), alone.error().detail);
  auto subtree = cgroup_subtree::take(argv[1], 2000);
  if (!subtree && (subtree.error().code == "still_there" || subtree.error().code == "subtree_in_use" ||
                   subtree.error().code == "bad_subtree"))
    return fail(options.worker.get(), subtree.error().detail);
  auto report = find_containment(subtree ? (*subtree)->descriptor() : -1, subtree ? "" : subtree.error().detail,
                                 parse_name<containment>(argv[2]));
  if (subtree) options.subtree = std::move(*subtree);
  if (!report) {
    if (options.subtree) options.subtree->remove();
    return fail(options.worker.get(), report.error().detail);
  }
  options.report = std::move(*report);
  return guardian(std::move(options)).run();
}
