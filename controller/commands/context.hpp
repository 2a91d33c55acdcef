// The state that commands change. A command is a plain value: everything that is drawn or measured (fresh ids, the
// time, whether the disk is almost full) comes in with it or with this context.
#pragma once

#include <vector>

#include "controller/orders.hpp"
#include "controller/records/entries.hpp"

namespace quell::controller {
class ledger;
class fleet;
namespace turns {
class conversations;
}
} // namespace quell::controller

namespace quell::controller::commands {

struct context {
  ledger& operations;
  fleet& workers;
  turns::conversations& talks;
  std::vector<records::entry>& rows; ///< for rows that belong to no state machine
  moment now;
  bool storage_low = false;
};

/// The answer of a command that answers nothing.
struct nothing {};

} // namespace quell::controller::commands
