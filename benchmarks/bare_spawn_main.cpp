// bench_bare_spawn COUNT PROGRAM [THREADS]: the bare limit of starting work: COUNT times posix_spawn and wait, shared
// by as many threads as there are cores. Prints the rate per second.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_bare_spawn COUNT PROGRAM [THREADS]\n");
    return 2;
  }
  const long count = std::strtol(argv[1], nullptr, 10);
  const long threads = argc > 3 ? std::strtol(argv[3], nullptr, 10) : sysconf(_SC_NPROCESSORS_ONLN);
  std::atomic<long> next{0}, failed{0};
  const auto work = [&] {
    char* arguments[] = {argv[2], nullptr};
    while (next.fetch_add(1) < count) {
      pid_t child = 0;
      int status = 0;
      if (posix_spawn(&child, argv[2], nullptr, nullptr, arguments, environ) != 0 ||
          waitpid(child, &status, 0) != child || status != 0)
        failed.fetch_add(1);
    }
  };
  const auto before = std::chrono::steady_clock::now();
  std::vector<std::jthread> workers;
  for (long i = 0; i < threads; ++i) workers.emplace_back(work);
  workers.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  if (failed != 0) {
    std::fprintf(stderr, "bench_bare_spawn: %ld of %ld did not run\n", failed.load(), count);
    return 1;
  }
  std::printf("%.1f\n", count / took.count());
  return 0;
}
