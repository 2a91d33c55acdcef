// How often each command was given to the core. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace quell::controller {

struct command;

class command_counts {
 public:
  static constexpr std::size_t size = 50; ///< how many commands there are; checked where the variant is known
  using names = std::array<std::string_view, size>;

  void count(const command& what);
  /// All commands by name, zeros included.
  std::vector<std::pair<std::string_view, std::uint64_t>> now() const;

 private:
  std::array<std::atomic<std::uint64_t>, size> counts_{};
};

} // namespace quell::controller
