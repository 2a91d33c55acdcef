// Big answers begin one at a time, and nobody's many delay another's one.
#include <algorithm>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>

#include "gateway/turnstile.hpp"

using namespace quell::controller::http;

namespace {

struct answers {
  io_context io;
  std::shared_ptr<turnstile> turns = std::make_shared<turnstile>(io);
  std::vector<std::string> begun;

  awaitable<> begin(std::string who, std::size_t bytes) {
    co_await turns->pass(who, bytes);
    begun.push_back(who);
  }
  void ask(const std::string& who, std::size_t bytes = 100'000) {
    boost::asio::co_spawn(io, begin(who, bytes), boost::asio::detached);
  }
  std::size_t place_of(const std::string& who) const {
    return static_cast<std::size_t>(std::find(begun.begin(), begun.end(), who) - begun.begin());
  }
};

} // namespace

TEST_CASE("a lone big answer begins at once", "[turnstile]") {
  answers a;
  a.ask("ann");
  a.io.poll_one();
  CHECK(a.begun == std::vector<std::string>{"ann"});
}

TEST_CASE("between two big answers everything that is ready runs", "[turnstile]") {
  answers a;
  for (int i = 0; i < 100; ++i) a.ask("flood");
  std::size_t before = 0;
  for (int i = 0; i < 101; ++i) a.io.poll_one(); // all have asked, and one has begun
  CHECK(a.begun.size() <= 2);
  boost::asio::post(a.io, [&] { before = a.begun.size(); }); // a small answer's work
  a.io.run();
  CHECK(before <= 4);
  CHECK(a.begun.size() == 100);
}

TEST_CASE("another caller's answer comes before the rest of a flood", "[turnstile]") {
  answers a;
  for (int i = 0; i < 200; ++i) a.ask("flood");
  while (a.begun.size() < 20) a.io.poll_one();
  a.ask("ann");
  a.io.run();
  CHECK(a.begun.size() == 201);
  CHECK(a.place_of("ann") < 30);
}

TEST_CASE("answers that wait when the loop ends are dropped with it", "[turnstile]") {
  auto a = std::make_unique<answers>();
  for (int i = 0; i < 10; ++i) a->ask("flood");
  for (int i = 0; i < 12; ++i) a->io.poll_one();
  CHECK(a->begun.size() < 10);
  a.reset();
}
