// Limits log lines about peers that misbehave (workers, strangers, MCP servers, ACP agents): a few per peer, then an
// occasional one that counts the rest, so that no peer can fill the disk by misbehaving.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "protocol/peer_budget.hpp"

namespace quell {

/// Any thread may use it; the caller passes the time.
class log_rate_limiter {
 public:
  /// The line to write for `text` now, with the number of lines about any peer that were left out before it. nullopt:
  /// this line is left out.
  std::optional<std::string> due(const std::string& about, const std::string& text, boot_time now);
  /// The same for a line that is rare by itself: it is always written.
  std::string always(const std::string& text);
  /// Writes the line as a warning if it is due.
  void warn(const std::string& about, const std::string& text, boot_time now);

 private:
  std::mutex guard_;
  peer_budgets of_one_{{10, 1.0 / 60}};
  budget of_all_{{100, 10.0 / 60}}; ///< all peers together may write ten times the lines of one peer
  std::uint64_t left_out_ = 0;
};

} // namespace quell
