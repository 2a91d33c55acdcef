// The byte quota over restarts: what a stop, a crash, moved clocks and a broken file leave of it.
#include "quelld/kept_byte_quota.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

#include "protocol/id.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;

namespace {

struct quota_world {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("quell-bytes-" + operation_id::fresh().text())).string();
  moment now{wall_time(1'790'000'000s), boot_time{1'000'000'000'000'000}};
  std::string boot = "first boot";
  milliseconds write_every = 1h;

  quota_world() { std::filesystem::create_directory(folder); }
  ~quota_world() { std::filesystem::remove_all(folder); }
  std::string file() const { return folder + "/bytes.json"; }
  std::unique_ptr<kept_byte_quota> life() {
    return std::make_unique<kept_byte_quota>(
        kept_byte_quota::options{file(), {86'400, 0, 0}, write_every, boot, [this] { return now; }});
  }
  void pass(std::chrono::seconds wall, std::chrono::seconds boottime) {
    now.wall += wall;
    now.boot = now.boot + boottime;
  }
};

const byte_source one{"one", "token 'one'", {}};

/// How many bytes there is room for, tried by a search.
std::uint64_t room(kept_byte_quota& q) {
  std::uint64_t low = 0, high = 86'400;
  while (low < high) {
    const auto middle = (low + high + 1) / 2;
    if (q.look(one, middle))
      high = middle - 1;
    else
      low = middle;
  }
  return low;
}

} // namespace

TEST_CASE("a restart leaves the day's bytes as they were", "[bytes]") {
  quota_world w;
  auto first = w.life();
  CHECK_FALSE(first->take(one, 86'400));
  CHECK(first->take(one, 1));
  first.reset();
  w.pass(100s, 100s);
  CHECK(room(*w.life()) == 100);
}

TEST_CASE("in one boot a moved wall clock changes nothing, over a reboot a clock that went back gives nothing",
          "[bytes]") {
  quota_world w;
  CHECK_FALSE(w.life()->take(one, 86'400));
  SECTION("the same boot") {
    w.pass(48h, 100s);
    CHECK(room(*w.life()) == 100);
    w.pass(-96h, 100s);
    CHECK(room(*w.life()) == 200);
  }
  SECTION("another boot") {
    w.boot = "second boot";
    w.now.boot = boot_time{5'000'000'000};
    w.pass(100s, 0s);
    CHECK(room(*w.life()) == 100);
  }
  SECTION("another boot, and the clock went back") {
    w.boot = "second boot";
    w.now.boot = boot_time{5'000'000'000};
    w.pass(-1000s, 0s);
    CHECK(room(*w.life()) == 0);
  }
}

TEST_CASE("it is written while quelld runs, so that a crash loses little", "[bytes]") {
  quota_world w;
  w.write_every = 1ms;
  const auto running = w.life(); // it is never closed before the next one reads
  CHECK_FALSE(running->take(one, 86'400));
  const auto deadline = std::chrono::steady_clock::now() + quell::testing::patient(10s);
  while (!std::filesystem::exists(w.file()) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  REQUIRE(std::filesystem::exists(w.file()));
  CHECK(room(*w.life()) == 0);
}

TEST_CASE("a file that cannot be read refuses nothing and is written anew", "[bytes]") {
  quota_world w;
  for (const char* text : {"", "{", "[]", "{\"version\":1}", "{\"at_ms\":\"x\",\"boot\":{},\"tokens\":[]}"}) {
    std::ofstream(w.file()) << text;
    auto q = w.life();
    CHECK(room(*q) == 86'400);
    CHECK_FALSE(q->take(one, 86'400));
    q.reset();
    CHECK(room(*w.life()) == 0);
  }
}

TEST_CASE("a folder that takes no file refuses nothing", "[bytes]") {
  quota_world w;
  std::filesystem::remove_all(w.folder);
  auto q = w.life();
  CHECK_FALSE(q->take(one, 86'400));
  CHECK(q->take(one, 1));
  q->close();
}
