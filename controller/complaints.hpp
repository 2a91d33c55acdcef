// Log lines about a peer that misbehaves: a few, then one now and then that counts the rest, so that nobody fills the
// disk by being wrong. Pure; time is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "controller/peer_budget.hpp"

namespace quell::controller {

/// One thread.
class complaints {
 public:
  /// To be written now: how many were kept silent since the last one. nullopt: not this time.
  std::optional<std::uint64_t> due(const std::string& about, boot_time now) {
    // A crowd of peers together may write ten times what one of them may.
    if (of_one_.take(about, 1, now) && of_all_.take(1, now)) return std::exchange(silent_, 0);
    ++silent_;
    return std::nullopt;
  }
  /// " (and 17 more like it)", or nothing.
  static std::string and_more(std::uint64_t silent) {
    return silent == 0 ? std::string() : " (" + std::to_string(silent) + " more complaints were not written)";
  }

 private:
  peer_budgets of_one_{{10, 1.0 / 60}};
  budget of_all_{{100, 10.0 / 60}};
  std::uint64_t silent_ = 0;
};

} // namespace quell::controller
