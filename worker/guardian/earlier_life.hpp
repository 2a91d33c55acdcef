// Waiting for the guardian and the keepers of an earlier life, which kill their tasks before they end.
#pragma once

#include <string>

#include "protocol/fault.hpp"

namespace quell::worker {

/// Returns when no other guardian or keeper of this subtree lives, so that nothing of its tasks does; fault
/// `still_there` names one that is there after `limit_ms`.
result<void> await_earlier_life(const std::string& subtree, int limit_ms);

} // namespace quell::worker
