// A chunk from a file to a socket that does not take all of it at once.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/file_sending.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;

namespace {

std::shared_ptr<const int> held(int fd) {
  return {new int(fd), [](const int* gone) {
            ::close(*gone);
            delete gone;
          }};
}

file_range file_with(const std::string& text, std::uint64_t from, std::uint64_t length) {
  const int fd = ::memfd_create("output", MFD_CLOEXEC);
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return {held(fd), from, length};
}

struct pair_of_sockets {
  pair_of_sockets() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    REQUIRE(::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    ours = duplicate_for_files(ends[0]);
  }
  ~pair_of_sockets() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  std::string read() {
    std::string some(64 * 1024, '\0');
    const auto n = ::read(ends[1], some.data(), some.size());
    some.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return some;
  }
  int ends[2] = {-1, -1};
  std::shared_ptr<const int> ours;
};

} // namespace

TEST_CASE("a chunk of a file is sent as far as its reader reads") {
  pair_of_sockets sockets;
  REQUIRE(sockets.ours);
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += "line " + std::to_string(i) + "\n";
  file_chunk chunk(sockets.ours, file_with(text, 5, text.size() - 5), "head\r\n", "\r\n");
  std::string got;
  int rests = 0;
  auto did = chunk.send();
  for (; did == file_chunk::progress::blocked; did = chunk.send(), ++rests) got += sockets.read();
  CHECK(did == file_chunk::progress::sent);
  CHECK(rests > 1);
  const std::string wanted = "head\r\n" + text.substr(5) + "\r\n";
  CHECK(chunk.sent() == wanted.size());
  while (got.size() < wanted.size()) got += sockets.read();
  CHECK(got == wanted);
}

TEST_CASE("a chunk fails if its client has gone, or its file is too short") {
  pair_of_sockets sockets;
  file_chunk cut(sockets.ours, file_with("short", 0, 100), "", "\r\n");
  CHECK(cut.send() == file_chunk::progress::failed);
  CHECK(sockets.read() == "short");
  ::close(sockets.ends[1]);
  sockets.ends[1] = -1;
  file_chunk gone(sockets.ours, file_with(std::string(100, 'x'), 0, 100), "head", "");
  CHECK(gone.send() == file_chunk::progress::failed);
}

TEST_CASE("no file is sent over a socket that blocks") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  CHECK_FALSE(duplicate_for_files(ends[0]));
  ::close(ends[0]);
  ::close(ends[1]);
}
