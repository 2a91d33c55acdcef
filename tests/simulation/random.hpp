// Random numbers that are the same on every machine: splitmix64 streams, each named by a seed and a purpose.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocol/id.hpp"

namespace quell::simulation {

/// One step of splitmix64: a good mix of 64 bits.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(a ^ (mix(b) + 0x632be59bd9b4e019ULL)); }

/// An independent stream per (seed, purpose): the draws of one part never shift those of another, so that a run without
/// one step resembles the run with it.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : state_(seed) {}
  random_stream(std::uint64_t seed, std::uint64_t purpose) : state_(mix(seed, purpose)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
  /// 0 … n-1; 0 for n = 0.
  std::uint64_t below(std::uint64_t n) {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(next()) * n) >> 64);
  }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  bool chance(unsigned per_mille) { return below(1000) < per_mille; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  /// Many small values and a few large ones: uniform in the exponent.
  std::int64_t long_tailed(std::int64_t least, std::int64_t most) {
    std::int64_t top = most;
    for (auto halvings = below(6); halvings > 0 && top > 2 * least; --halvings) top /= 2;
    return between(least, top < least ? least : top);
  }

 private:
  std::uint64_t state_;
};

/// A UUIDv7 whose random part is `salt`, stretched.
template <class Id>
Id id_of(wall_time at, std::uint64_t salt) {
  std::array<std::uint8_t, 10> bytes{};
  const std::uint64_t a = mix(salt), b = mix(salt, 7);
  for (std::size_t i = 0; i < 10; ++i)
    bytes[i] = static_cast<std::uint8_t>((i < 8 ? a >> (8 * i) : b >> (8 * (i - 8))));
  return Id{make_uuid7(at, bytes)};
}

} // namespace quell::simulation
