// The channel over standard input and output, beside a client that does not read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cli/mcp/stdio.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::cli;
using namespace quell::cli::mcp;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t line_bytes = 64 * 1024;

struct channel_world {
  event_loop loop;
  int in[2], out[2];
  std::vector<std::string> lines{};
  bool is_closed = false;
  int drained = 0;
  std::unique_ptr<stdio_channel> channel{};

  explicit channel_world(full_output then) {
    REQUIRE(::pipe(in) == 0);
    REQUIRE(::pipe(out) == 0);
    stdio_channel::callbacks c;
    c.line = [this](std::string_view line) { lines.emplace_back(line); };
    c.too_long = [] {};
    c.closed = [this] { is_closed = true; };
    c.drained = [this] { ++drained; };
    channel = std::make_unique<stdio_channel>(loop, in[0], out[1], 1 << 20, c, then);
  }
  ~channel_world() {
    loop.unwatch(out[0]);
    channel.reset();
    for (const int end : {in[0], in[1], out[0], out[1]})
      if (end >= 0) ::close(end);
  }
  void fill() {
    while (!channel->is_full()) channel->send(std::string(line_bytes - 1, 'x') + "\n");
  }
  void say(const std::string& line) {
    REQUIRE(::write(in[1], line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }
  void hang_up() { ::close(std::exchange(in[1], -1)); }
  /// Reads whatever comes from now on; returns when `done`.
  std::size_t read_until(const std::function<bool()>& done) {
    std::size_t count = 0;
    loop.watch(out[0], ready_for::reading, [&] {
      std::string some(line_bytes, '\0');
      count += static_cast<std::size_t>(std::max<ssize_t>(::read(out[0], some.data(), some.size()), 0));
    });
    wait_for(done);
    loop.unwatch(out[0]);
    return count;
  }
  void wait_for(const std::function<bool()>& done) {
    bool is_late = false;
    const auto limit = loop.after(testing::patient(20s), [&] { is_late = true; });
    loop.run_until([&] { return done() || is_late; });
    loop.forget(limit);
    CHECK_FALSE(is_late);
  }
};

} // namespace

TEST_CASE("a client that reads no answers is read all the same, if the server wants that") {
  channel_world w(full_output::reads_on);
  w.fill();
  w.say("stop\n");
  w.wait_for([&] { return w.lines.size() == 1; });
  CHECK(w.channel->is_full());
  CHECK(w.drained == 0);
  w.hang_up();
  w.wait_for([&] { return w.is_closed; });
}

TEST_CASE("the server hears once that its client reads again, and not from inside a send") {
  channel_world w(full_output::reads_on);
  w.fill();
  const auto kept = w.read_until([&] { return w.drained > 0; });
  CHECK_FALSE(w.channel->is_full());
  CHECK(kept > 2'000'000);
  w.channel->send("more\n");
  w.read_until([&] { return w.channel->is_flushed(); });
  CHECK(w.drained == 1);
}

TEST_CASE("a server that wants no more of such a client reads on when the client does") {
  channel_world w(full_output::pauses_input);
  w.fill();
  w.say("next\n");
  bool is_over = false;
  w.loop.after(10ms, [&] { is_over = true; }); // it was ready all the while
  w.loop.run_until([&] { return is_over; });
  CHECK(w.lines.empty());
  w.read_until([&] { return w.lines.size() == 1; });
}
