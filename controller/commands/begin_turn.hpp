// A turn begins, or it goes on after a restart, as does a sub-agent. One that was told to stop before it had an agent
// ends here with everything below it, because nothing else ends it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/commands/open_model_call.hpp"
#include "controller/local_operations.hpp"
#include "controller/model_costs.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::commands {

struct turn_begun {
  bool may_run = false;
  boot_time began{};                          ///< which for a turn that was resumed was before the restart
  std::vector<operation_id> stopped;          ///< calls of its last answer that have ended
  tree_cost used;                             ///< by a turn that goes on, before it does
  std::optional<outcome<created>> first_call; ///< its first model call, if it was to be opened
};

struct begin_turn {
  using answer = turn_begun;
  static constexpr std::string_view name = "begin_turn";

  operation_id turn;
  std::vector<operation_id> calls;                    ///< of its last answer, from before a restart
  std::optional<records::event_record> started_event; ///< its turn_start, or its turn_resumed
  bool resumes = false;
  std::vector<operation_id> asking = {};          ///< of `calls`: those that ask people; an answer can have ended one
  std::vector<operation_id> unknown = {};         ///< of `calls`: those whose fate nobody knows
  own_outcome unknown_end = {};                   ///< that they get
  std::optional<open_model_call> first_call = {}; ///< of a turn that asks its model at once
};

begin_turn::answer apply(const begin_turn& command, const context& with);
std::string describe(const begin_turn& command);

} // namespace quell::controller::commands
