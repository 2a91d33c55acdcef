// Connections that wait for their next request.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/http/wire.hpp"

namespace quell::cli {

class kept_wires {
 public:
  using instant = std::chrono::steady_clock::time_point;
  /// Shorter than the patience of any usual server with an idle connection, since a request that meets the server's end
  /// of it cannot be told from one that was carried out.
  static constexpr std::chrono::seconds most_idle{4};
  static constexpr std::size_t most = 8;

  /// A connection to the place `key` on which nothing happens, or null.
  std::shared_ptr<wire> take(const std::string& key, instant now);
  void keep(const std::string& key, std::shared_ptr<wire> connection, instant now);

 private:
  struct kept {
    std::string key;
    std::shared_ptr<wire> connection;
    instant since;
  };
  void drop_old(instant now);

  std::vector<kept> all_; ///< the one used last is last
};

} // namespace quell::cli
