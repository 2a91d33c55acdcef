// bench_bare_kill GROUPS PROCESSES CROWD: the bare limit of a stop. GROUPS cgroups with PROCESSES processes each (the
// program CROWD), one cgroup.kill written to each, all reaped here. Prints the milliseconds from the first write to the
// last reap.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
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

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_bare_kill GROUPS PROCESSES CROWD\n");
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
  const auto before = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i < made.size(); ++i) good &= write_file(made[i] + "/cgroup.kill", "1");
  long reaped = 0;
  while (waitpid(-1, nullptr, 0) > 0) ++reaped;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
  for (auto at = made.rbegin(); at != made.rend(); ++at) rmdir(at->c_str());
  if (!good || reaped != groups * processes) {
    std::fprintf(stderr, "bench_bare_kill: reaped %ld of %ld: %s\n", reaped, groups * processes,
                 good ? "some did not start" : "a cgroup could not be used (root needed?)");
    return 1;
  }
  std::printf("%.3f\n", took.count());
  return 0;
}
