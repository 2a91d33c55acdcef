// The tools that several servers offer to one turn, and what is known about a silent server when the turn goes on.
#include <catch2/catch.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/turns/tool_gathering.hpp"

using namespace quell::controller::turns;

namespace {

std::vector<tool_definition> tool(const std::string& name) {
  tool_definition one;
  one.offer.name = name;
  return {one};
}

struct gathered {
  explicit gathered(std::size_t servers)
      : all(servers, [this](offered_tools what) {
          known_then = known;
          ++times;
          offered = std::move(what);
        }) {}
  void answers(std::size_t server, tool_gathering::contribution what) {
    all.answer(server, std::move(what), [this] { known += " answered"; });
  }
  void falls_silent(std::size_t server) {
    all.time_out(server, {{}, "too late", {}}, [this] { known += " silent"; });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all_names;
    for (const auto& one : offered->tools) all_names.push_back(one.offer.name);
    return all_names;
  }

  std::string known; ///< about the servers
  std::optional<std::string> known_then;
  int times = 0;
  std::optional<offered_tools> offered;
  tool_gathering all;
};

} // namespace

TEST_CASE("a turn goes on when all servers have settled, with their tools in the order of the servers", "[mcp]") {
  gathered g(3);
  g.answers(2, {tool("c"), {}, {}});
  g.answers(1, {{}, "it is ill", "b"});
  CHECK_FALSE(g.offered);
  CHECK(g.all.is_settled(2));
  CHECK_FALSE(g.all.is_settled(0));
  g.answers(0, {tool("a"), {}, {}});
  REQUIRE(g.offered);
  CHECK(g.names() == std::vector<std::string>{"a", "c"});
  CHECK(g.offered->note == "it is ill");
  CHECK(g.offered->logins == std::vector<std::string>{"b"});
  g.answers(0, {tool("again"), {}, {}});
  CHECK(g.times == 1);
}

TEST_CASE("a turn goes on only once it is known that a server is silent: the next one must not wait again", "[mcp]") {
  gathered g(2);
  g.answers(0, {tool("a"), {}, {}});
  g.falls_silent(1);
  CHECK(g.known_then == " answered silent");
  REQUIRE(g.offered);
  CHECK(g.offered->note == "too late");
  gathered quick(1);
  quick.answers(0, {tool("a"), {}, {}}); // what was known before is mended before the next turn, too
  CHECK(quick.known_then == " answered");
}

TEST_CASE("a late answer contributes nothing and ends the silence; an early one leaves none", "[mcp]") {
  gathered late(1), early(1);
  late.falls_silent(0);
  late.answers(0, {tool("late"), {}, "late"});
  CHECK(late.known == " silent answered");
  CHECK(late.offered->tools.empty());
  CHECK(late.offered->logins.empty());
  early.answers(0, {tool("early"), {}, {}});
  early.falls_silent(0);
  CHECK(early.known == " answered");
  CHECK(late.times + early.times == 2);
}

TEST_CASE("an answer that crosses its time limit leaves no silence behind", "[mcp]") {
  for (int round = 0; round < 2'000; ++round) {
    std::atomic<bool> is_silent{false};
    std::atomic<int> times{0}, ready{0};
    tool_gathering all(1, [&](offered_tools) { ++times; });
    const auto together = [&] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
    };
    std::thread server([&] {
      together();
      all.answer(0, {}, [&] { is_silent = false; });
    });
    together();
    all.time_out(0, {}, [&] { is_silent = true; });
    server.join();
    REQUIRE_FALSE(is_silent);
    REQUIRE(times == 1);
  }
}
