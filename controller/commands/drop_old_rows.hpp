// Drops old rows of ended things, unless more urgent work waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct drop_old_rows {
  using answer = bool; ///< whether it did, once that is durable
  static constexpr std::string_view name = "drop_old_rows";

  std::vector<operation_id> operations; ///< children before their parents
  std::vector<cancel_id> cancels;
  std::uint64_t events_up_to = 0; ///< 0 = none
  bool insist = false;            ///< gives way only to a cancel that waits for its commit
};

drop_old_rows::answer apply(const drop_old_rows& command, const context& with);
std::string describe(const drop_old_rows& command);

} // namespace quell::controller::commands
