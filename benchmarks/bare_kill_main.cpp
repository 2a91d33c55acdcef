// bench_bare_kill GROUPS PROCESSES CROWD [each|whole]: the bare limit of a stop. GROUPS cgroups with PROCESSES
// processes each (the program CROWD). `each`: one cgroup.kill written to each, all reaped here; prints the milliseconds
// from the first write to the last reap. `whole`: one cgroup.kill written to the cgroup above all of them, and the
// kernel reaps; prints the milliseconds until that cgroup is empty. A reaper of thousands looks through the living ones
// again and again, so `whole` is the faster one for many.
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
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/// Starts one crowd in a cgroup; returns when all its processes run.
bool start_crowd(const std::string& cgroup, const char* crowd, const char* count) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    if (write_file(cgroup + "/cgroup.procs", "0")) execl(crowd, crowd, count, static_cast<char*>(nullptr));
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
  const bool is_whole = argc == 5 && std::strcmp(argv[4], "whole") == 0;
  if (argc != 4 && !is_whole && (argc != 5 || std::strcmp(argv[4], "each") != 0)) {
    std::fprintf(stderr, "usage: bench_bare_kill GROUPS PROCESSES CROWD [each|whole]\n");
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
  bool good = mkdir(folder.c_str(), 0755) == 0;
  for (long i = 0; good && i < groups; ++i) {
    made.push_back(folder + "/" + std::to_string(i));
    good = mkdir(made.back().c_str(), 0755) == 0 && start_crowd(made.back(), argv[3], argv[2]);
  }
  if (!good) std::fprintf(stderr, "bench_bare_kill: a cgroup could not be used (root needed?)\n");
  const double took = is_whole ? kill_whole(folder) : kill_each(made, groups * processes);
  for (auto at = made.rbegin(); at != made.rend(); ++at) rmdir(at->c_str());
  if (!good || took < 0) return 1;
  std::printf("%.3f\n", took);
  return 0;
}
