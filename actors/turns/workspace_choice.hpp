// Decides on which worker a call works: where the workspace of its conversation is, or on a new one. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "actors/turns/workspace_rows.hpp"
#include "controller/fleet.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::turns {

struct workspace_need {
  std::string key;
  scope_path scope;
  std::string mark; ///< unique: names a new workspace
  // The workers that the agent's configuration allows, and those that this call asks for among them:
  std::optional<std::string> worker, wanted_worker;
  std::map<std::string, std::string> on, wanted_on;
  milliseconds keep{0};
  bool is_turn_start = false; ///< only then it follows a configuration that names other workers
  bool is_in_use = false;     ///< by tasks, so that its worker does not remove it
};

struct workspace_choice {
  enum class kind {
    use,    ///< `row` as it is
    fresh,  ///< `row` is new
    refuse, ///< `why`
    wait    ///< no worker is there that could hold it; ask again later
  } what = kind::use;
  workspace_row row;
  fault why;
};

/// After so long without use a workspace counts as removed: a little before its worker removes it, whose clock began a
/// moment earlier.
milliseconds unused_time(const workspace_row& row);
/// The row says that it was not used for so long.
bool is_due_for_removal(const workspace_row& row, wall_time now);

workspace_choice choose_workspace(const std::optional<workspace_row>& row, const workspace_need& need,
                                  const fleet& workers, moment now);

/// `row` replaced by a new one, because the old workspace is lost; `why` is for the model.
workspace_row fresh_after(const workspace_row& row, const workspace_need& need, const std::string& worker,
                          const std::string& why, wall_time now);

} // namespace quell::controller::turns
