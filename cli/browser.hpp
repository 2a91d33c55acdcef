// Opens a person's browser.
#pragma once

#include <string>

#include "cli/connection.hpp"

namespace quell::cli {

/// Starts `$BROWSER`, or else xdg-open if there is a desktop, with this address, which must be http or https; does not
/// wait for it. False: no browser is available, or it cannot be started.
bool open_browser(const std::string& address, const environment& env);

} // namespace quell::cli
