// The store is all about records: their names stand here without their namespace.
#pragma once

#include "controller/records/costs.hpp"
#include "controller/records/history.hpp"
#include "controller/records/records.hpp"

namespace quell::storage {

using namespace records; // NOLINT(google-build-using-namespace): of this room alone

} // namespace quell::storage
