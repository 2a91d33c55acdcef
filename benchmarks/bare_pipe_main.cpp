// bench_bare_pipe relay BYTES: the bare limit of output over a socket, as `program | nc`. A child writes BYTES to a
// pipe, a second one copies them to a TCP socket, this process reads them to the end. Prints the seconds from the start
// of the children to the last byte.
// bench_bare_pipe sealed BYTES DIRECTORY: the same with what quell promises beside it: the copier seals each piece with
// CURVE's cipher, another process opens it, appends it to a file, and sends it from there to a second socket. Nothing
// else: no session, no acknowledgement, no HTTP. Prints the seconds likewise.
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

#include <fcntl.h>
#include <sodium.h>
#include <sys/sendfile.h>
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

/// The cipher of CURVE with a fixed key, and a counter as nonce.
class cipher {
 public:
  std::vector<unsigned char>& nonce() {
    sodium_increment(nonce_.data(), nonce_.size());
    return nonce_;
  }
  const unsigned char* key() const { return key_.data(); }

 private:
  std::vector<unsigned char> nonce_ = std::vector<unsigned char>(crypto_box_NONCEBYTES);
  std::vector<unsigned char> key_ = std::vector<unsigned char>(crypto_box_BEFORENMBYTES, 7);
};

constexpr std::size_t piece_bytes = 64 * 1024;

/// Seals pieces from a pipe and sends each behind its length.
int seal_bytes(int from, int to) {
  cipher with;
  std::vector<unsigned char> plain(piece_bytes), frame(sizeof(std::uint32_t) + piece_bytes + crypto_box_MACBYTES);
  while (true) {
    const auto n = read(from, plain.data(), plain.size());
    if (n <= 0) return n == 0 ? 0 : 1;
    const auto size = static_cast<std::uint32_t>(n) + crypto_box_MACBYTES;
    std::memcpy(frame.data(), &size, sizeof size);
    (void)crypto_box_easy_afternm(frame.data() + sizeof size, plain.data(), static_cast<std::size_t>(n),
                                  with.nonce().data(), with.key());
    if (!write_whole(to, reinterpret_cast<const char*>(frame.data()), sizeof size + size)) return 1;
  }
}

bool read_whole(int fd, void* into, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const auto n = read(fd, static_cast<char*>(into) + done, size - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// Opens what `seal_bytes` sent, appends it to a file, and sends it from there.
int store_and_send(int from, int to, const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return 1;
  cipher with;
  std::vector<unsigned char> frame(piece_bytes + crypto_box_MACBYTES), plain(piece_bytes);
  off_t sent = 0;
  std::uint32_t size = 0;
  while (read_whole(from, &size, sizeof size)) {
    if (!read_whole(from, frame.data(), size)) return 1;
    if (crypto_box_open_easy_afternm(plain.data(), frame.data(), size, with.nonce().data(), with.key()) != 0) return 1;
    const auto fresh = size - crypto_box_MACBYTES;
    if (!write_whole(file, reinterpret_cast<const char*>(plain.data()), fresh)) return 1;
    for (std::size_t left = fresh; left > 0;) {
      const auto n = sendfile(to, file, &sent, left);
      if (n <= 0) return 1;
      left -= static_cast<std::size_t>(n);
    }
  }
  return 0;
}

int relay_sealed(long count, const std::string& directory) {
  int ends[2];
  sockaddr_in at_keeper{}, at_reader{};
  const int to_keeper = listen_here(at_keeper), to_reader = listen_here(at_reader);
  if (sodium_init() < 0) quell::bench::end_of_load("libsodium does not start");
  const auto path = directory + "/bare_pipe." + std::to_string(getpid());
  const auto start = steady::now();
  if (pipe(ends) != 0) return 1;
  std::vector<pid_t> children;
  const auto run = [&](auto what) {
    children.push_back(fork());
    if (children.back() == 0) _exit(what());
  };
  run([&] { return close(ends[0]), write_bytes(ends[1], count); });
  run([&] { return close(ends[1]), seal_bytes(ends[0], quell::bench::dial(at_keeper)); });
  close(ends[0]);
  close(ends[1]);
  run([&] {
    const int from = accept(to_keeper, nullptr, nullptr);
    return store_and_send(from, quell::bench::dial(at_reader), path);
  });
  const int fd = accept(to_reader, nullptr, nullptr);
  const long came = drain(fd);
  const double took = since(start);
  bool good = came == count;
  for (const pid_t child : children) {
    int status = 0;
    good &= waitpid(child, &status, 0) == child && status == 0;
  }
  unlink(path.c_str());
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
  if (mode == "sealed" && argc == 4) return relay_sealed(std::atol(argv[2]), argv[3]);
  if (mode == "write" && argc == 3) return write_bytes(1, std::atol(argv[2]));
  if (mode == "read" && argc == 5) return read_from(argv[2], argv[3], argv[4]);
  std::fprintf(stderr,
               "usage: bench_bare_pipe relay BYTES | sealed BYTES DIRECTORY | write BYTES | read HOST PORT PATH\n");
  return 2;
}
