// bench_bare_kill GROUPS PROCESSES CROWD [each|whole] [contained]: the bare limit of a stop. GROUPS cgroups with
// PROCESSES processes each (the program CROWD). `each`: one cgroup.kill written to each, all reaped here; prints the
// milliseconds from the first write to the last reap. `whole`: one cgroup.kill written to the cgroup above all of them,
// and the kernel reaps; prints the milliseconds until that cgroup is empty. A reaper of thousands looks through the
// living ones again and again, so `whole` is the faster one for many. `contained`: each crowd below an init in a PID
// and a mount namespace of its own, with its own /proc and the same files of it read-only as quell's tasks have; the
// end is when each init is reaped and each cgroup is removed. References to the mount namespaces are kept, so that
// nobody waits for their end.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// The mount point of cgroup v2, or "" if it is not mounted.
std::string cgroup_mount() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string word;
    for (int i = 0; i < 5; ++i) fields >> word;
    return word;
  }
  return "";
}

bool write_file(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool good = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return good;
}

/// This keeps the tasks' ends of `contained` from waiting.
std::vector<int> kept_mounts;
int proc_directory = -1; ///< of this process's namespace: the mounts of this program have no /proc

/// This process's own mounts, without a /proc below those of the inits.
bool leave_host_mounts() {
  proc_directory = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         umount2("/proc", MNT_DETACH) == 0;
}

/// As a keeper does: an init with its own /proc, whose child goes on. Returns only in that child.
void become_init_and_fork() {
  mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  for (const char* file :
       {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"})
    if (mount(file, file, nullptr, MS_BIND, nullptr) == 0)
      mount(nullptr, file, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  const pid_t leader = fork();
  if (leader == 0) return;
  close_range(3, ~0U, 0);
  while (wait(nullptr) > 0 || errno == EINTR) {
  }
  _exit(0);
}

pid_t clone_contained(const std::string& cgroup) {
  const int directory = open(cgroup.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP | CLONE_NEWPID | CLONE_NEWNS;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(directory);
  const auto init = static_cast<pid_t>(syscall(SYS_clone3, &how, sizeof how));
  if (init == 0) become_init_and_fork();
  close(directory);
  if (init > 0)
    kept_mounts.push_back(openat(proc_directory, (std::to_string(init) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  return init;
}

/// Starts one crowd in a cgroup; returns when all its processes run.
bool start_crowd(const std::string& cgroup, const char* crowd, const char* count, bool is_contained) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = is_contained ? clone_contained(cgroup) : fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    if (is_contained || write_file(cgroup + "/cgroup.procs", "0"))
      execl(crowd, crowd, count, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  char byte;
  const bool stands = child > 0 && read(ends[0], &byte, 1) == 1;
  close(ends[0]);
  return stands;
}

/// Waits until the cgroup and all below it have no process, as cgroup.events says. Returns false after a minute.
bool wait_until_empty(const std::string& cgroup) {
  const int fd = open((cgroup + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool empty = false;
  while (!empty) {
    char text[256];
    const auto size = pread(fd, text, sizeof text - 1, 0);
    if (size <= 0) break;
    text[size] = 0;
    empty = std::strstr(text, "populated 0") != nullptr;
    pollfd changed{fd, POLLPRI, 0};
    if (!empty && poll(&changed, 1, 60'000) <= 0) break;
  }
  close(fd);
  return empty;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The milliseconds, or a negative value after an error, which is printed.
double kill_each(const std::vector<std::string>& made, long expected) {
  bool good = true;
  const auto before = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i < made.size(); ++i) good &= write_file(made[i] + "/cgroup.kill", "1");
  long reaped = 0;
  while (waitpid(-1, nullptr, 0) > 0) ++reaped;
  const auto took = milliseconds_since(before);
  if (good && reaped == expected) return took;
  std::fprintf(stderr, "bench_bare_kill: reaped %ld of %ld\n", reaped, expected);
  return -1;
}

double kill_contained(const std::vector<std::string>& made, bool is_whole) {
  bool good = true;
  const auto before = std::chrono::steady_clock::now();
  if (is_whole)
    good = write_file(made[0] + "/cgroup.kill", "1");
  else
    for (std::size_t i = 1; i < made.size(); ++i) good &= write_file(made[i] + "/cgroup.kill", "1");
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  for (std::size_t i = 1; i < made.size(); ++i)
    while (rmdir(made[i].c_str()) != 0 && errno == EBUSY) sched_yield();
  const auto took = milliseconds_since(before);
  for (const int fd : kept_mounts) close(fd);
  return good ? took : -1;
}

double kill_whole(const std::string& folder) {
  std::signal(SIGCHLD, SIG_IGN); // nothing is left to reap
  const auto before = std::chrono::steady_clock::now();
  const bool good = write_file(folder + "/cgroup.kill", "1") && wait_until_empty(folder);
  const auto took = milliseconds_since(before);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  if (good) return took;
  std::fprintf(stderr, "bench_bare_kill: the cgroups are not empty after a minute\n");
  return -1;
}

} // namespace

int main(int argc, char** argv) {
  const auto is = [&](int i, const char* word) { return argc > i && std::strcmp(argv[i], word) == 0; };
  const bool is_whole = is(4, "whole"), is_contained = is(5, "contained");
  if (argc < 4 || argc > 6 || (argc > 4 && !is_whole && !is(4, "each")) || (argc > 5 && !is_contained)) {
    std::fprintf(stderr, "usage: bench_bare_kill GROUPS PROCESSES CROWD [each|whole] [contained]\n");
    return 2;
  }
  const long groups = std::strtol(argv[1], nullptr, 10), processes = std::strtol(argv[2], nullptr, 10);
  const auto mount = cgroup_mount();
  if (mount.empty()) {
    std::fprintf(stderr, "bench_bare_kill: no cgroup v2 is mounted here\n");
    return 1;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1); // orphans of a killed crowd become children of this process
  const auto folder = mount + "/quell-bench-" + std::to_string(getpid());
  std::vector<std::string> made{folder};
  bool good = mkdir(folder.c_str(), 0755) == 0 && (!is_contained || leave_host_mounts());
  for (long i = 0; good && i < groups; ++i) {
    made.push_back(folder + "/" + std::to_string(i));
    good = mkdir(made.back().c_str(), 0755) == 0 && start_crowd(made.back(), argv[3], argv[2], is_contained);
  }
  if (!good) std::fprintf(stderr, "bench_bare_kill: a cgroup could not be used (root needed?)\n");
  const double took = is_contained ? kill_contained(made, is_whole)
                      : is_whole   ? kill_whole(folder)
                                   : kill_each(made, groups * processes);
  for (auto at = made.rbegin(); at != made.rend(); ++at) rmdir(at->c_str());
  if (!good || took < 0) return 1;
  std::printf("%.3f\n", took);
  return 0;
}
