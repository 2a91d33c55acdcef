// A day's bytes that a test fills.
#pragma once

#include <utility>
#include <vector>

#include "controller/byte_quota.hpp"

namespace quell::controller::chat::testing {

struct played_byte_quota final : byte_quota {
  std::optional<bytes_refused> take(const byte_source& from, std::uint64_t bytes) override {
    if (const auto refused = look(from, bytes)) return refused;
    taken.emplace_back(from, bytes);
    return std::nullopt;
  }
  std::optional<bytes_refused> look(const byte_source&, std::uint64_t bytes) const override {
    if (bytes <= room) return std::nullopt;
    return bytes_refused{"the day is full", std::chrono::seconds(77)};
  }
  void add(const byte_source& from, std::uint64_t bytes) override { added.emplace_back(from, bytes); }
  void give_back(const byte_source&, std::uint64_t) override {}

  std::uint64_t room = 1 << 20;
  std::vector<std::pair<byte_source, std::uint64_t>> taken, added;
};

} // namespace quell::controller::chat::testing
