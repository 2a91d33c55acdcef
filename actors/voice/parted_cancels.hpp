// Cancels that no model was told of before their client left: the same speaker's next client in the scope tells it. On
// the loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>

#include "protocol/scope.hpp"
#include "protocol/time.hpp"

namespace quell::controller::voice {

/// A speaker who comes back later speaks of something else.
inline constexpr std::chrono::minutes parted_cancel_lasts{10};
inline constexpr std::size_t most_parted_cancels = 256;

class parted_cancels {
 public:
  /// If there are too many, the oldest one is forgotten.
  void keep(const scope_path& scope, const std::string& author, boot_time now);
  /// True once for each that was kept.
  bool take(const scope_path& scope, const std::string& author, boot_time now);

 private:
  struct parted {
    std::string scope, author;
    boot_time until;
  };
  std::list<parted> all_; ///< the oldest first, one for each scope and author
};

} // namespace quell::controller::voice
