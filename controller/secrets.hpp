// The secrets of a state directory: files of mode 0600, made on first start. Never logged.
#pragma once

#include <optional>
#include <string>

#include "protocol/fault.hpp"
#include "protocol/socket.hpp"

namespace quell::controller {

struct state_secrets {
  key_pair curve;             ///< `controller.key`
  std::string admin_token;    ///< `admin.token`
  std::string task_token_key; ///< `task-token.key`
};

/// Reads them, making those that are missing. The directory exists and is locked by us.
result<state_secrets> load_secrets(const std::string& directory);

/// Puts a fresh bootstrap token into the directory and into its `client.json`. A quelld that runs takes it by itself;
/// no lock is needed. Fault `storage_unavailable`, and `not_found` for a directory that holds no token.
result<void> replace_admin_token(const std::string& directory);

/// Makes the controller's next CURVE key, `controller.key.next`; one that is there already stays. A quelld that runs
/// tells it to its workers. Returns the public half. Faults as above.
result<std::string> prepare_controller_key(const std::string& directory);

/// Puts the next key in the place of the present one. A quelld that runs takes it by itself. Returns the public half.
/// Fault `not_found` if none was prepared.
result<std::string> finish_controller_key(const std::string& directory);

/// The present key, and the next one if there is one, as the files are now; nullopt: no file, or no key in it.
std::optional<key_pair> controller_key(const std::string& directory);
std::optional<key_pair> next_controller_key(const std::string& directory);

/// Writes `text` to `path` with mode 0600, whole or not at all (a temporary file and a rename).
result<void> write_private_file(const std::string& path, const std::string& text);

} // namespace quell::controller
