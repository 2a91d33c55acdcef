// Any sequence of commands on the core, with refused writes, commits and time between them: nothing breaks, each
// command is answered once, and no operation ends twice.
#include <random>

#include "tests/controller/commands/command_player.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

void run(std::string_view bytes) {
  constexpr int most_steps = 300;
  choices from(bytes);
  controller::core_tests::command_player player([&](std::size_t count) { return from.below(count); }, expect);
  for (int i = 0; i < most_steps && !from.at_end(); ++i) player.step();
  player.finish();
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    std::string bytes;
    for (int i = 0; i < 600; ++i) bytes += static_cast<char>(random());
    all.push_back(std::move(bytes));
  }
  return all;
}

const known_target known("core_commands", run, seeds);

} // namespace
} // namespace quell::fuzz
