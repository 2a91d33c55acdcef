// bench_bare_pipe relay BYTES: the bare limit of output over a socket, as `program | nc`. A child writes BYTES to a
// pipe, a second one copies them to a TCP socket, this process reads them to the end. Prints the seconds from the start
// of the children to the last byte.
// bench_bare_pipe write BYTES: writes as many to stdout, as the child above does.
// bench_bare_pipe read HOST PORT PATH: GETs PATH (token in QUELL_TOKEN) and reads to the end of the connection. Prints
// the seconds from the request to the last byte, and how many bytes came, head and framing included.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "benchmarks/load_client.hpp"

namespace {

using steady = std::chrono::steady_clock;

double since(steady::time_point start) { return std::chrono::duration<double>(steady::now() - start).count(); }

/// Returns false if the reader is gone.
bool write_whole(int fd, const char* bytes, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const auto n = write(fd, bytes + done, size - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

int write_bytes(int fd, long count) {
  std::vector<char> bytes(64 * 1024);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = i % 80 == 79 ? '\n' : static_cast<char>('a' + i % 26);
  for (long left = count; left > 0;) {
    const auto size = std::min<long>(left, static_cast<long>(bytes.size()));
    if (!write_whole(fd, bytes.data(), static_cast<std::size_t>(size))) return 1;
    left -= size;
  }
  return 0;
}

int copy_bytes(int from, int to) {
  std::vector<char> bytes(64 * 1024);
  while (true) {
    const auto n = read(from, bytes.data(), bytes.size());
    if (n <= 0) return n == 0 ? 0 : 1;
    if (!write_whole(to, bytes.data(), static_cast<std::size_t>(n))) return 1;
  }
}

/// Reads to the end of the connection; the number of bytes, or a negative value after an error.
long drain(int fd) {
  std::vector<char> bytes(256 * 1024);
  long count = 0;
  while (true) {
    const auto n = read(fd, bytes.data(), bytes.size());
    if (n < 0) return -1;
    if (n == 0) return count;
    count += n;
  }
}

/// A listening socket on loopback, and its address.
int listen_here(sockaddr_in& at) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(listener, 1) != 0)
    quell::bench::end_of_load("cannot listen on loopback");
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  return listener;
}

int relay(long count) {
  int ends[2];
  sockaddr_in at{};
  const int listener = listen_here(at);
  const auto start = steady::now();
  if (pipe(ends) != 0) return 1;
  const pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    _exit(write_bytes(ends[1], count));
  }
  const pid_t copier = fork();
  if (copier == 0) {
    close(ends[1]);
    _exit(copy_bytes(ends[0], quell::bench::dial(at)));
  }
  close(ends[0]);
  close(ends[1]);
  const int fd = accept(listener, nullptr, nullptr);
  const long came = drain(fd);
  const double took = since(start);
  bool good = came == count;
  for (const pid_t child : {writer, copier}) {
    int status = 0;
    good &= waitpid(child, &status, 0) == child && status == 0;
  }
  if (!good) quell::bench::end_of_load("bytes were lost");
  std::printf("%.6f\n", took);
  return 0;
}

int read_from(const char* host, const char* port, const std::string& path) {
  const auto to = quell::bench::target_of(host, port);
  const int fd = quell::bench::dial(to.address);
  const auto start = steady::now();
  quell::bench::send_all(fd, "GET " + path + " HTTP/1.1\r\nHost: " + to.host + "\r\nAuthorization: Bearer " + to.token +
                                 "\r\nConnection: close\r\n\r\n");
  const long came = drain(fd);
  std::printf("%.6f %ld\n", since(start), came);
  return came < 0 ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "relay" && argc == 3) return relay(std::atol(argv[2]));
  if (mode == "write" && argc == 3) return write_bytes(1, std::atol(argv[2]));
  if (mode == "read" && argc == 5) return read_from(argv[2], argv[3], argv[4]);
  std::fprintf(stderr, "usage: bench_bare_pipe relay BYTES | write BYTES | read HOST PORT PATH\n");
  return 2;
}
