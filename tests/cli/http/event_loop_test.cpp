// Timers and descriptors of the event loop.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/cli/http/fetching.hpp"

using namespace quell::cli;
using namespace quell::cli::test;
using quell::milliseconds;

namespace {

struct pipe_pair {
  int ends[2];
  pipe_pair() { REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }
  ~pipe_pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
};

} // namespace

TEST_CASE("timers come in their order, and not if they were forgotten") {
  std::string order;
  for (int i = 0; i < 100 && order != "abc"; ++i) { // if this thread rests for 30 ms, c is due before b is asked for
    event_loop loop;
    order.clear();
    loop.after(milliseconds{30}, [&] { order += "c"; });
    const auto forgotten = loop.after(milliseconds{5}, [&] { order += "x"; });
    event_loop::handle second = 0;
    loop.after(milliseconds{1}, [&] {
      order += "a";
      loop.forget(forgotten);
      loop.forget(forgotten);
      second = loop.after(milliseconds{1}, [&] {
        order += "b";
        loop.forget(second); // itself
      });
    });
    run_bounded(loop, [&] { return order.size() >= 3; });
    CHECK(order.starts_with("a"));
    CHECK(order.find('x') == std::string::npos);
  }
  CHECK(order == "abc");
}

TEST_CASE("two timers are due at once, and the first forgets the second") {
  event_loop loop;
  int fired = 0;
  event_loop::handle second = 0;
  loop.after(milliseconds{1}, [&] {
    ++fired;
    loop.forget(second);
  });
  second = loop.after(milliseconds{2}, [&] { fired += 100; });
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < milliseconds{5}) continue; // both are late when the loop begins
  bool is_over = false;
  loop.after(milliseconds{10}, [&] { is_over = true; });
  run_bounded(loop, [&] { return is_over; });
  CHECK(fired == 1);
}

TEST_CASE("a descriptor is told as long as it is ready, and not after it is unwatched") {
  event_loop loop;
  pipe_pair pipe;
  int calls = 0;
  loop.watch(pipe.ends[0], ready_for::reading, [&] {
    if (++calls == 3) loop.unwatch(pipe.ends[0]); // nothing was read, so it stays ready
  });
  bool is_over = false;
  loop.after(milliseconds{10}, [&] {
    CHECK(calls == 0);
    CHECK(::write(pipe.ends[1], "x", 1) == 1);
  });
  run_bounded(loop, [&] { return calls >= 3; });
  loop.after(milliseconds{20}, [&] { is_over = true; });
  run_bounded(loop, [&] { return is_over; });
  CHECK(calls == 3);
  CHECK((::fcntl(pipe.ends[0], F_GETFL) & O_NONBLOCK) == 0); // others share it
}

TEST_CASE("a hang-up is told to readers and writers") {
  event_loop loop;
  pipe_pair one, other;
  ::close(::dup(one.ends[1]));
  bool read = false, written = false;
  ::fcntl(other.ends[1], F_SETFL, O_NONBLOCK);
  std::string full(1 << 20, 'x');
  CHECK(::write(other.ends[1], full.data(), full.size()) > 0);
  loop.watch(one.ends[0], ready_for::reading, [&] {
    read = true;
    loop.unwatch(one.ends[0]);
  });
  loop.watch(other.ends[1], ready_for::writing, [&] {
    written = true;
    loop.unwatch(other.ends[1]);
  });
  loop.after(milliseconds{5}, [&] {
    CHECK_FALSE(read);
    CHECK_FALSE(written);
    ::close(std::exchange(one.ends[1], -1));
    ::close(std::exchange(other.ends[0], -1));
  });
  run_bounded(loop, [&] { return read && written; });
}

TEST_CASE("what the system cannot wait for is always ready, and lets timers come") {
  event_loop loop;
  char path[] = "/tmp/quell-cli-test-XXXXXX";
  const int file = ::mkstemp(path), null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::unlink(path);
  int from_file = 0, from_null = 0;
  bool is_over = false;
  loop.watch(file, ready_for::writing, [&] { ++from_file; });
  loop.watch(null, ready_for::reading, [&] { ++from_null; });
  loop.after(milliseconds{5}, [&] { is_over = true; });
  run_bounded(loop, [&] { return is_over && from_file > 1 && from_null > 1; });
  loop.unwatch(file);
  loop.unwatch(null);
  CHECK(::close(file) == 0);
  CHECK(::close(null) == 0);
}

TEST_CASE("watched descriptors stay open when the loop ends") {
  pipe_pair pipe;
  {
    event_loop loop;
    loop.watch(pipe.ends[0], ready_for::reading, [] {});
    loop.after(milliseconds{1'000'000}, [] {});
  }
  CHECK(::fcntl(pipe.ends[0], F_GETFD) >= 0);
}
