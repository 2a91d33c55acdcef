// bench_signal: the bare limit of a signal. For each line on stdin it sends SIGTERM to a child process that waits, and
// answers with the milliseconds from kill() to the child's handler.
// bench_signal task FILE: becomes a task that appends a line "ready" to FILE (a FIFO, say), waits for SIGTERM, appends
// the CLOCK_MONOTONIC seconds at which its handler ran, and ends.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

int out = -1;
bool ends_after_one = false;

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

/// Looks at the clock first; nothing after that counts. Only one write, of raw bytes or of a line.
void on_term(int) {
  const double at = now();
  if (!ends_after_one) {
    if (write(out, &at, sizeof at) != sizeof at) _exit(1);
    return;
  }
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%.9f\n", at); // the process waits in pause(): nothing else runs
  if (write(out, line, static_cast<std::size_t>(size)) != size) _exit(1);
  _exit(0);
}

void wait_for_signals() {
  struct sigaction action {};
  action.sa_handler = on_term;
  sigaction(SIGTERM, &action, nullptr);
}

int task(const char* path) {
  ends_after_one = true;
  out = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  wait_for_signals();
  if (out < 0 || write(out, "ready\n", 6) != 6) {
    std::perror("bench_signal: FILE");
    return 1;
  }
  while (true) pause();
}

int step_by_step() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    out = ends[1];
    wait_for_signals();
    const double here = now();
    if (write(out, &here, sizeof here) != sizeof here) _exit(1);
    while (true) pause();
  }
  double at = 0;
  bool good = child > 0 && read(ends[0], &at, sizeof at) == sizeof at; // the handler is installed
  for (char line[64]; good && std::fgets(line, sizeof line, stdin);) {
    const double before = now();
    good = kill(child, SIGTERM) == 0 && read(ends[0], &at, sizeof at) == sizeof at;
    std::printf("%.4f\n", (at - before) * 1000);
    std::fflush(stdout);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 1) return step_by_step();
  if (argc == 3 && std::strcmp(argv[1], "task") == 0) return task(argv[2]);
  std::fprintf(stderr, "usage: bench_signal   (a line on stdin = one signal) | bench_signal task FILE\n");
  return 2;
}
