// Shares of the bytes of a day. Each token, author and scope has a share that fills up with what it brings and empties
// steadily, a whole share in a day. Pure; the caller passes the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/byte_quota.hpp"
#include "protocol/time.hpp"

namespace quell::controller {

/// Bytes in a day; 0 = no limit.
struct byte_limits {
  double per_token = 0, per_author = 0, per_scope = 0;
};

class byte_shares {
 public:
  /// With so many shares of a kind, those that are nearly empty are forgotten.
  static constexpr std::size_t most_of_kind = 20'000;

  explicit byte_shares(byte_limits limits) : limits_({limits.per_token, limits.per_author, limits.per_scope}) {}

  /// Counts the bytes in every share, or in none. More than a whole share is taken by an empty one, so that it is
  /// possible at all. `now`: for the refusal the wall time, too.
  std::optional<bytes_refused> take(const byte_source& from, double bytes, moment now);
  std::optional<bytes_refused> look(const byte_source& from, double bytes, moment now) const;
  void add(const byte_source& from, double bytes, moment now);
  void give_back(const byte_source& from, double bytes, moment now);

  enum class kind : std::uint8_t { token, author, scope };
  struct kept {
    kind what = kind::token;
    std::string key;
    double used = 0; ///< bytes
    friend bool operator==(const kept&, const kept&) = default;
  };
  /// All that are not empty, for the next life.
  std::vector<kept> all(boot_time now) const;
  /// Those of an earlier life, `since` that long ago. Limits can have changed.
  void restore(const std::vector<kept>& shares, std::chrono::nanoseconds since, boot_time now);
  std::size_t size() const;

 private:
  struct share {
    double used = 0;
    boot_time at{};
  };
  using shares = std::unordered_map<std::string, share>;
  using place = std::pair<kind, std::string>;

  double limit(kind what) const { return limits_[static_cast<std::size_t>(what)]; }
  double used(kind what, const share& s, boot_time now) const;
  /// The limited shares of the source.
  std::vector<place> places_of(const byte_source& from) const;
  void fill(const place& where, double bytes, boot_time now);
  void forget_some(kind what, boot_time now);

  std::array<double, 3> limits_;
  std::array<shares, 3> all_;
};

} // namespace quell::controller
