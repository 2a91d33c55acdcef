// What a status says about the open cancels. A plain count: a status that listed each of them would let any number of
// open cancels delay the next one.
#pragma once

#include <cstddef>
#include <optional>

#include "protocol/time.hpp"

namespace quell::controller {

struct open_cancel_summary {
  std::size_t count = 0;
  std::optional<wall_time> oldest; ///< when that with the lowest seq was accepted
};

/// A ledger that counts its open cancels.
class open_cancel_counts {
 public:
  virtual open_cancel_summary summary_of_open_cancels() const = 0;

 protected:
  ~open_cancel_counts() = default;
};

} // namespace quell::controller
