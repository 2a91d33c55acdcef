// What is logged about programs of other people that misbehave: a few lines each, then one a minute that counts what
// was left out, so that none of them fills the disk. Any thread; time is handed in.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "controller/peer_budget.hpp"

namespace quell::controller::turns {

class peer_log {
 public:
  /// `text` with the number of lines that were left out before it, if it is to be written now.
  std::optional<std::string> due(const std::string& about, const std::string& text, boot_time now);
  /// The same for a line that is rare by itself: it is always to be written.
  std::string always(const std::string& about, const std::string& text);
  /// Writes what is due as a warning.
  void warn(const std::string& about, const std::string& text, boot_time now);

 private:
  struct peer {
    budget lines{{10, 1.0 / 60}};
    std::uint64_t left_out = 0;
  };
  std::mutex guard_;
  std::map<std::string, peer> peers_; ///< by names of the configuration, so they are few
};

} // namespace quell::controller::turns
