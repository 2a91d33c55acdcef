// Log lines about peers that misbehave (workers, strangers, MCP servers, ACP agents): a few about each, then one now
// and then that counts the rest, so that nobody fills the disk by being wrong.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "controller/peer_budget.hpp"

namespace quell::controller {

/// Any thread; time is handed in.
class log_rate_limiter {
 public:
  /// `text` as it is to be written now, with the number of lines about anybody that were left out before it. nullopt:
  /// this one is left out.
  std::optional<std::string> due(const std::string& about, const std::string& text, boot_time now);
  /// The same for a line that is rare by itself: it is always to be written.
  std::string always(const std::string& text);
  /// Writes what is due as a warning.
  void warn(const std::string& about, const std::string& text, boot_time now);

 private:
  std::mutex guard_;
  peer_budgets of_one_{{10, 1.0 / 60}};
  budget of_all_{{100, 10.0 / 60}}; ///< a crowd of peers together may write ten times what one of them may
  std::uint64_t left_out_ = 0;
};

} // namespace quell::controller
