// The body of the create that `quell run` sends. Pure: environment and files come in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/options.hpp"
#include "cli/problem.hpp"

namespace quell::cli {

/// Where the caller stands.
struct caller {
  std::string directory; ///< "" = unknown
  std::string host;
};
/// Where this process stands. this_caller.cpp
caller this_caller();

/// `POST /v1/operations` with `id`. Parent: --parent, else QUELL_OPERATION; `none` = a new root. Scope: --scope, else
/// with a parent the parent's (left to the controller), else `scope_without_parent`, else the controller's default.
/// Without --cwd the caller's place goes along as `task.default_cwd` and `task.default_cwd_host`: a worker on that host
/// uses it if it exists there. Problem `usage`: a bad --id, --env-file, --secret or --env K that is not
/// set here.
answer<nlohmann::json> run_request(const run_options& o, const std::string& id, const std::string& parent,
                                   const std::optional<std::string>& scope_without_parent, const environment& env,
                                   const caller& where);

} // namespace quell::cli
