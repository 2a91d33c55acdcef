// The body of the create that `quell run` sends. Pure: environment and files are passed in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/options.hpp"
#include "cli/problem.hpp"

namespace quell::cli {

/// The host and directory of the caller.
struct caller {
  std::string directory; ///< "" = unknown
  std::string host;
};
/// The place of this process. this_caller.cpp
caller this_caller();

/// `POST /v1/operations` with `id`. Parent: --parent, otherwise QUELL_OPERATION; `none` = a new root. Scope: --scope,
/// otherwise with a parent the parent's (left to the controller), otherwise `scope_without_parent`, otherwise the
/// controller's default. Without --cwd the caller's place is sent as `task.default_cwd` and `task.default_cwd_host`: a
/// worker on that host uses the directory if it exists there. Problem `usage`: a bad --id, --env-file, --secret or a
/// --env K that is not set here.
answer<nlohmann::json> run_request(const run_options& o, const std::string& id, const std::string& parent,
                                   const std::optional<std::string>& scope_without_parent, const environment& env,
                                   const caller& where);

} // namespace quell::cli
