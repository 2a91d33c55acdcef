// bench_watchers HOST PORT COUNT PATH: opens COUNT event streams (token in QUELL_TOKEN), prints "ready", and then for
// each number N on stdin waits until every watcher has received N more events, and prints
// {"first_s":[…],"last_s":[…],"done_s":T}: for each of these events the CLOCK_MONOTONIC seconds at which the first and
// the last watcher received it. bench_watchers bare COUNT BYTES: the limit. One thread writes BYTES to each of COUNT
// sockets, N times for each number N on stdin, and another reads them all as above; prints the same, and "from_s", the
// time at which the first byte was written.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

int dial(const sockaddr_in& to) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("bench_watchers: connect");
  return fd;
}

/// Counts events on many sockets: an event ends at "\n\n" after a data line.
class readers {
 public:
  explicit readers(std::vector<int> fds) : fds_(std::move(fds)), got_(fds_.size()), state_(fds_.size()) {
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    for (std::size_t i = 0; i < fds_.size(); ++i) {
      fcntl(fds_[i], F_SETFL, O_NONBLOCK);
      epoll_event e{};
      e.events = EPOLLIN;
      e.data.u64 = i;
      epoll_ctl(poll_, EPOLL_CTL_ADD, fds_[i], &e);
    }
  }
  /// Reads until all have `count` more events; the times at which the first and the last one had each.
  void take(std::size_t count, std::vector<double>& first, std::vector<double>& last) {
    const auto base = base_;
    first.assign(count, 0);
    last.assign(count, 0);
    std::size_t done = 0;
    for (const auto g : got_) done += g - base >= count ? 1 : 0;
    std::vector<epoll_event> events(1024);
    std::vector<char> bytes(1 << 18);
    while (done < fds_.size()) {
      const int ready = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 60'000);
      if (ready <= 0) fail("bench_watchers: nothing came for a minute");
      for (int k = 0; k < ready; ++k) {
        const auto i = static_cast<std::size_t>(events[static_cast<std::size_t>(k)].data.u64);
        const auto size = recv(fds_[i], bytes.data(), bytes.size(), 0);
        if (size == 0 || (size < 0 && errno != EAGAIN)) fail("bench_watchers: a stream was closed");
        if (size < 0) continue;
        const double at = now();
        for (auto fresh = events_in(i, bytes.data(), static_cast<std::size_t>(size)); fresh > 0; --fresh) {
          const auto n = got_[i]++ - base;
          if (n >= count) continue;
          if (first[n] == 0) first[n] = at;
          last[n] = at;
          if (n + 1 == count) ++done;
        }
      }
    }
    base_ += count;
  }

 private:
  /// The `data:` line distinguishes events from comments; both end with an empty line. The CR of chunk headers is
  /// skipped.
  std::size_t events_in(std::size_t i, const char* bytes, std::size_t size) {
    std::size_t found = 0;
    auto& s = state_[i];
    for (const char* at = bytes; at < bytes + size; ++at) {
      if (*at != '\n') {
        if (s.at_line_start && *at == 'd') s.has_data = true;
        s.at_line_start = false;
        if (s.has_data) { // the rest of this line does not matter
          const auto left = static_cast<std::size_t>(bytes + size - at);
          const auto* end = static_cast<const char*>(std::memchr(at, '\n', left));
          if (!end) break;
          at = end - 1;
        }
        continue;
      }
      if (s.at_line_start && s.has_data) {
        ++found;
        s.has_data = false;
      }
      s.at_line_start = true;
    }
    return found;
  }
  struct parse_state {
    bool at_line_start = true, has_data = false;
  };
  std::vector<int> fds_;
  std::vector<std::size_t> got_;
  std::vector<parse_state> state_;
  std::size_t base_ = 0;
  int poll_ = -1;
};

void print(const char* name, const std::vector<double>& values) {
  std::printf("\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.6f", i ? "," : "", values[i]);
  std::printf("],");
}

void serve(readers& all, const std::function<double(std::size_t)>& start) {
  std::printf("ready\n");
  std::fflush(stdout);
  std::vector<double> first, last;
  for (std::size_t count = 0; std::cin >> count;) {
    const double from = start(count);
    all.take(count, first, last);
    std::printf("{");
    print("first_s", first);
    print("last_s", last);
    std::printf("\"from_s\":%.6f,\"done_s\":%.6f}\n", from, now());
    std::fflush(stdout);
  }
}

std::vector<int> watch(const char* host, const char* port, std::size_t count, const std::string& path) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, host, &to.sin_addr);
  const char* token = std::getenv("QUELL_TOKEN");
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + (token ? token : "") +
                              "\r\nAccept: text/event-stream\r\n\r\n";
  std::vector<int> fds;
  for (std::size_t i = 0; i < count; ++i) {
    fds.push_back(dial(to));
    if (write(fds.back(), request.data(), request.size()) < 0) fail("bench_watchers: write");
  }
  for (const int fd : fds) { // until each stream has begun: from then on it receives every event
    std::string head;
    char bytes[4096];
    while (head.find("retry: 1000") == std::string::npos) {
      const auto size = recv(fd, bytes, sizeof bytes, 0);
      if (size <= 0) fail("bench_watchers: a stream did not begin");
      head.append(bytes, static_cast<std::size_t>(size));
    }
  }
  return fds;
}

/// Pairs of connected loopback sockets: bytes written to `near` are read from `far`.
void connect_pairs(std::size_t count, std::vector<int>& near, std::vector<int>& far) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(listener, 128) != 0) fail("bind");
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  for (std::size_t i = 0; i < count; ++i) {
    far.push_back(dial(at));
    near.push_back(accept(listener, nullptr, nullptr));
    const int yes = 1;
    setsockopt(near.back(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  close(listener);
}

void bare(std::size_t count, std::size_t bytes) {
  std::vector<int> near, far;
  connect_pairs(count, near, far);
  readers all(far);
  std::string frame = "data: " + std::string(bytes > 8 ? bytes - 8 : 1, 'x') + "\n\n";
  std::thread writer;
  serve(all, [&](std::size_t rounds) {
    if (writer.joinable()) writer.join();
    writer = std::thread([&near, frame, rounds] {
      for (std::size_t r = 0; r < rounds; ++r)
        for (const int fd : near)
          if (write(fd, frame.data(), frame.size()) != static_cast<ssize_t>(frame.size()))
            fail("bench_watchers: write");
    });
    return now();
  });
  if (writer.joinable()) writer.join();
}

} // namespace

int main(int argc, char** argv) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (argc == 4 && std::string(argv[1]) == "bare") {
    bare(static_cast<std::size_t>(std::atoi(argv[2])), static_cast<std::size_t>(std::atoi(argv[3])));
  } else if (argc == 5) {
    readers all(watch(argv[1], argv[2], static_cast<std::size_t>(std::atoi(argv[3])), argv[4]));
    serve(all, [](std::size_t) { return now(); });
  } else {
    std::fprintf(stderr, "usage: bench_watchers HOST PORT COUNT PATH | bench_watchers bare COUNT BYTES\n");
    return 2;
  }
}
