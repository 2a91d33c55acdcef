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

/// The context `wanted`, else the file's default one; nullopt if there is no file or it names none.
/// Fault `usage`: the file is broken, an unknown key is in it, or `wanted` is not there (the known ones are named).
answer<std::optional<context>> read_context(const std::string& path, const std::optional<std::string>& wanted);

} // namespace quell::cli
