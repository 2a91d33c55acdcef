// bench_deaths: reads process ids from stdin to its end, prints "ready" when it watches all of them, and then, when the
// last one is dead, the CLOCK_MONOTONIC seconds of that instant. Sleeps until a process dies.
#include <cstdio>
#include <vector>

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main() {
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> watched;
  for (int pid = 0; std::scanf("%d", &pid) == 1;) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    if (fd < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) {
      std::perror("bench_deaths: a process cannot be watched");
      return 1;
    }
    watched.push_back(fd);
  }
  std::printf("ready\n");
  std::fflush(stdout);
  std::vector<epoll_event> events(256);
  for (std::size_t dead = 0; dead < watched.size();) {
    const int ready = epoll_wait(poller, events.data(), static_cast<int>(events.size()), 60'000);
    if (ready <= 0) {
      std::fprintf(stderr, "bench_deaths: nothing died for a minute; %zu of %zu are dead\n", dead, watched.size());
      return 1;
    }
    dead += static_cast<std::size_t>(ready);
  }
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  std::printf("%.9f\n", static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9);
  return 0;
}
