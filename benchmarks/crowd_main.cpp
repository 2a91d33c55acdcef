// bench_crowd N [MARKER]: becomes N processes (itself and N - 1 children) that wait forever; prints "all here" when all
// of them run.
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (count < 1) {
    std::fprintf(stderr, "usage: bench_crowd N [MARKER]\n");
    return 2;
  }
  for (long i = 1; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      std::perror("bench_crowd: fork");
      return 1;
    }
    if (child == 0)
      while (true) pause();
  }
  std::printf("all here\n");
  std::fflush(stdout);
  while (true) pause();
}
