// `~/.config/quell/cli.toml`: named controllers. `context = "NAME"` picks the default, `[contexts.NAME]` holds url,
// token, token_file, ca_file, scope.
#pragma once

#include <optional>
#include <string>

#include "cli/problem.hpp"

namespace quell::cli {

struct context {
  std::string name, url, token, token_file, ca_file, scope;
};

/// The context `wanted`, otherwise the file's default one; nullopt if the file is missing or names none. Fault `usage`:
/// the file is broken or has an unknown key, or `wanted` does not exist (the fault lists the known ones).
answer<std::optional<context>> read_context(const std::string& path, const std::optional<std::string>& wanted);

} // namespace quell::cli
