// Random commands on one core: nothing throws, every answer comes once, and no operation ends twice.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "tests/controller/commands/command_player.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::command_player;

TEST_CASE("random commands throw nothing, and each is answered once") {
  std::map<std::string_view, std::uint64_t> given;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    command_player player([&](std::size_t count) { return random() % count; },
                          [](bool holds, std::string_view promise) {
                            if (!holds) FAIL(promise);
                          });
    for (int i = 0; i < 150; ++i) player.step();
    player.finish();
    for (const auto& [name, count] : player.world().edges.counts.now()) given[name] += count;
  }
  CHECK(given.size() == command_counts::size);
  for (const auto& [name, count] : given) {
    INFO(name << " is drawn too rarely: see command_player.hpp");
    CHECK(count >= 10);
  }
}
