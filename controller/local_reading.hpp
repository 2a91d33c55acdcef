// The operations of this process for those who only look.
#pragma once

#include "controller/ledger.hpp"

namespace quell::controller {

const local_operations& local_of(const ledger& l);

} // namespace quell::controller
