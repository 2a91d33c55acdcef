// Makes a runnable call from settings and a request: chooses the provider's translator or the script.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "integrations/models/running_call.hpp"
#include "integrations/models/script.hpp"

namespace quell::integrations {

class transfers;

/// Any thread. A request that cannot be sent becomes a call that fails at once. The maker inside uses `network` on the
/// client's thread.
std::unique_ptr<running_call> plan_call(const model_settings& settings, const model_request& request,
                                        const std::string& ca_file, transfers& network, script_shelf& scripts);

} // namespace quell::integrations
