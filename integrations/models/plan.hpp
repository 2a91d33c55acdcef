// From settings and a request to a call that can run: which provider's words, or which script.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "integrations/models/running_call.hpp"
#include "integrations/models/script.hpp"

namespace quell::integrations {

class transfers;

/// Any thread. What cannot be asked becomes a call that fails at once. The maker inside uses `network` on the client's
/// thread.
std::unique_ptr<running_call> plan_call(const model_settings& settings, const model_request& request,
                                        const std::string& ca_file, transfers& network, script_shelf& scripts);

} // namespace quell::integrations
