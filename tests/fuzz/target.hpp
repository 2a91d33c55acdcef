// What a fuzz target is: a function over any bytes that returns if what it promises held, and stops the program if not.
//
// The same targets run in three ways: under libFuzzer (one program each, `fuzzer_main.cpp`), over the stored corpora
// (one program with all of them, any compiler, `replay_main.cpp`), and as the makers of their own seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::fuzz {

/// A target by name, with the inputs from which its corpus began.
struct target {
  std::string name;
  void (*run)(std::string_view bytes) = nullptr;
  std::vector<std::string> (*seeds)() = nullptr;
};

/// All targets that are linked into this program.
std::vector<target>& targets();

/// A static one of these in a target's file makes it known.
struct known_target {
  known_target(const char* name, void (*run)(std::string_view), std::vector<std::string> (*seeds)()) {
    targets().push_back({name, run, seeds});
  }
};

/// What was promised does not hold: says so and aborts, which every fuzzer takes as a finding.
[[noreturn]] void broken(std::string_view promise);
inline void expect(bool holds, std::string_view promise) {
  if (!holds) broken(promise);
}

} // namespace quell::fuzz
