// The secrets of a state directory: files of mode 0600, made on first start. Never logged.
#pragma once

#include <optional>
#include <string>

#include "integrations/host/private_file.hpp"
#include "protocol/fault.hpp"
#include "protocol/socket.hpp"

namespace quell::controller {

struct state_secrets {
  key_pair curve;             ///< `controller.key`
  std::string admin_token;    ///< `admin.token`
  std::string task_token_key; ///< `task-token.key`
};

/// Reads them and creates the missing ones. The directory must exist and be locked by this process.
result<state_secrets> load_secrets(const std::string& directory);

/// Puts a fresh bootstrap token into the directory and into its `client.json`. A running quelld takes it by itself; no
/// lock is needed. Faults: `storage_unavailable`, and `not_found` for a directory that holds no token.
result<void> replace_admin_token(const std::string& directory);

/// Makes the controller's next CURVE key, `controller.key.next`, or keeps the existing one. A running quelld sends it
/// to its workers. Returns the public half. Faults as above.
result<std::string> prepare_controller_key(const std::string& directory);

/// Replaces the present key with the next one. A running quelld takes it by itself. Returns the public half. Fault
/// `not_found` if no next key was prepared.
result<std::string> finish_controller_key(const std::string& directory);

/// The present key, and the next one if there is one, as the files are now; nullopt: no file, or no key in it.
std::optional<key_pair> controller_key(const std::string& directory);
std::optional<key_pair> next_controller_key(const std::string& directory);

} // namespace quell::controller
