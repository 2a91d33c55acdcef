// The controller's address and token, by precedence: flag, environment, context in cli.toml, client.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/problem.hpp"

namespace quell::cli {

/// The values of flags; nullopt = not given.
struct connection_flags {
  std::optional<std::string> url, token, token_file, context, state;
};

struct connection {
  std::string url;
  std::string token; ///< a secret: never printed
  std::string ca_file;
  std::string found_in;           ///< the source of the address, for people
  std::vector<std::string> tried; ///< every place that was tried, for the error
};

using environment = std::function<std::optional<std::string>(const char*)>;
/// The environment of this process; an empty value counts as not set.
environment process_environment();

/// Fault `unreachable` names every place that was tried and `quell up`; `usage` for a context that does not exist or a
/// bad file.
answer<connection> find_connection(const connection_flags& flags, const environment& env);

/// --state, QUELL_STATE, ~/.local/state/quell, /var/lib/quell (the last only if its client.json can be read and the
/// others' cannot).
std::vector<std::string> state_directories(const connection_flags& flags, const environment& env);
/// --scope, else QUELL_SCOPE, else the context's `scope`; nullopt = leave it to the controller.
std::optional<std::string> default_scope(const connection_flags& flags, const environment& env);

/// The file's bytes up to `most`; the fault says why it cannot be read.
result<std::string> file_text(const std::string& path, std::size_t most);

} // namespace quell::cli
