// Discord's rate limits, learned from its answers. Pure.
//
// Each route of a channel has its own bucket; the headers of every answer say how much is left and when it is full
// again. A 429 says how long to wait, for that route or for all (docs: topics/rate-limits).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::integrations::chat::discord {

class rate_limits {
 public:
  using headers = std::map<std::string, std::string>; ///< names in lower case

  /// The time for which a request of this route must wait; 0 = it may go.
  milliseconds wait(const std::string& route, boot_time now) const;
  /// Whether that is because all requests must wait.
  bool is_shut(boot_time now) const { return now < all_free_at_; }
  /// The lesson of an answer. For a 429: how long to wait, and whether for everything.
  struct verdict {
    milliseconds wait{0};
    bool is_for_everything = false;
  };
  verdict answered(const std::string& route, long status, const headers& all, std::string_view body, boot_time now);

 private:
  static constexpr std::size_t most_routes = 2000;
  std::map<std::string, boot_time> free_at_;
  boot_time all_free_at_{};
};

} // namespace quell::integrations::chat::discord
