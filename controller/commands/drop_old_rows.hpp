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
  gives_way_to gives_way = gives_way_to::all_work;
  std::vector<records::put_turn_ending> endings = {}; ///< of turns among the operations
};

drop_old_rows::answer apply(const drop_old_rows& command, const context& with);
std::string describe(const drop_old_rows& command);

} // namespace quell::controller::commands
