// quell-guardian SUBTREE LEVEL CAPABILITIES|off WORKSPACES HIDDEN…: a worker starts it with a socket as descriptor 3;
// it is useless otherwise.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "worker/guardian/earlier_life.hpp"
#include "worker/guardian/guardian.hpp"
#include "worker/guardian/life_lock.hpp"
#include "worker/guardian/probe.hpp"
#include "worker/guardian/system.hpp"

namespace {

using namespace quell;
using namespace quell::worker;

/// Moves the worker's socket and the life lock away from the reserved numbers, which are filled with /dev/null.
void take_descriptors(unique_fd& worker, unique_fd& life) {
  worker.reset(::fcntl(3, F_DUPFD_CLOEXEC, reserved_descriptors));
  struct stat lock {};
  if (::fstat(4, &lock) == 0 && S_ISREG(lock.st_mode)) life.reset(::fcntl(4, F_DUPFD_CLOEXEC, reserved_descriptors));
  const int null = ::open("/dev/null", O_RDWR);
  if (null >= 0)
    for (int fd = 0; fd < reserved_descriptors; ++fd)
      if (fd != null) ::dup2(null, fd);
  const auto last = static_cast<unsigned>(std::max(worker.get(), life.get()));
  ::close_range(last + 1, ~0U, 0);
}

/// A terminal's signals are meant for the worker, and only the worker ends the guardian: of all signals only SIGKILL
/// does.
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

sandbox_options sandbox_of(char** words) {
  sandbox_options out;
  out.on = std::string_view(*words) != "off";
  if (out.on) out.capabilities = std::strtoull(*words, nullptr, 10);
  out.workspaces = *++words;
  while (*++words) out.hidden.emplace_back(*words);
  return out;
}

int fail(int worker, const std::string& why) {
  const auto failure = encode_launch_failure(why);
  ::send(worker, failure.data(), failure.size(), MSG_NOSIGNAL);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  struct stat socket {};
  if (argc < 5 || ::fstat(3, &socket) < 0 || !S_ISSOCK(socket.st_mode)) {
    std::fputs("quell-guardian is started by quell-worker, which see.\n", stderr);
    return 2;
  }
  guardian::options options;
  options.confinement = sandbox(sandbox_of(argv + 3));
  take_descriptors(options.worker, options.life);
  block_signals();
  // Tasks of the same user must not trace guardian or keepers, or read their memory.
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  options.open_files_limit = raise_open_files();
  [[maybe_unused]] const int moved = ::chdir("/");

  life_lock::before earlier;
  if (options.life) {
    auto taken = life_lock::take(options.life.get(), 6000);
    if (!taken) return fail(options.worker.get(), taken.error().detail);
    earlier = std::move(*taken);
  }
  const auto give_up = [&](const std::string& why) {
    if (options.life) life_lock::put_back(options.life.get(), earlier);
    return fail(options.worker.get(), why);
  };
  if (auto alone = await_dying_inits(6000); !alone) return give_up(alone.error().detail);
  auto subtree = cgroup_subtree::take(argv[1], 2000);
  if (!subtree && (subtree.error().code == "still_there" || subtree.error().code == "subtree_in_use" ||
                   subtree.error().code == "bad_subtree"))
    return give_up(subtree.error().detail);
  auto report = find_containment(subtree ? (*subtree)->descriptor() : -1, subtree ? "" : subtree.error().detail,
                                 parse_name<containment>(argv[2]));
  if (subtree) options.subtree = std::move(*subtree);
  if (!report) {
    if (options.subtree) options.subtree->remove();
    return give_up(report.error().detail);
  }
  options.report = std::move(*report);
  options.report.earlier_ended = options.life && earlier.ended;
  // From here on nothing is written to a cgroup by its path: this process's own view of them is read-only.
  const bool born_in_cgroup =
      options.report.level == containment::cgroup || options.report.level == containment::cgroup_pidns;
  options.name = argv[1];
  // With 1 a leader that changes its user could be traced by that user until its exec, and through it the keeper.
  options.memory_can_be_lent = !read_small_file(AT_FDCWD, "/proc/sys/fs/suid_dumpable", 16).starts_with('1');
  options.limits.prepare(options.subtree.get(), argv[1], born_in_cgroup, options.report.limits);
  const bool init_per_task =
      options.report.level == containment::pidns || options.report.level == containment::cgroup_pidns;
  options.confinement.prepare(init_per_task, options.report.limits);
  options.confinement.prepare_workspaces(options.report);
  if (init_per_task) options.confinement.leave_proc();

  return guardian(std::move(options)).run();
}
