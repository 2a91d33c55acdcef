// A fuzz target: a function over any bytes that returns if its promises held, and stops the program if not.
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

/// A target by name, with the seeds of its corpus.
struct target {
  std::string name;
  void (*run)(std::string_view bytes) = nullptr;
  std::vector<std::string> (*seeds)() = nullptr;
};

/// All targets that are linked into this program.
std::vector<target>& targets();

/// A static object of this type in a target's file registers the target.
struct known_target {
  known_target(const char* name, void (*run)(std::string_view), std::vector<std::string> (*seeds)()) {
    targets().push_back({name, run, seeds});
  }
};

/// Reports a broken promise and aborts, which every fuzzer takes as a finding.
[[noreturn]] void broken(std::string_view promise);
inline void expect(bool holds, std::string_view promise) {
  if (!holds) broken(promise);
}

} // namespace quell::fuzz
