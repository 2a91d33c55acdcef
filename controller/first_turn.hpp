// The first turn of a scope, which can begin while it is on its way to the disk.
#pragma once

#include "controller/records/history.hpp"
#include "controller/records/records.hpp"

namespace quell::controller {

/// As it was created.
struct first_turn {
  records::operation_record row;
  records::message_record message;
  /// All other messages of the scope are on disk, so its conversation can be read while these two are on their way.
  bool rest_is_on_disk = false;
};

} // namespace quell::controller
