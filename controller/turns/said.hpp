// Recovers the partial text of a model's answer that was never stored.
#pragma once

#include <string>

#include "controller/turns/parts.hpp"
#include "protocol/fault.hpp"
#include "storage/queries.hpp"

namespace quell::controller::turns {

/// The text sent in events after the stored answers of this turn (or sub-agent); "" if there is none. Reads the store,
/// so call it on a thread that can wait.
result<std::string> text_left_of(storage::queries& store, const storage::operation_record& turn);

/// A model's text that a restart cut off is only in events: it is stored as the interrupted answer that a stop would
/// have left.
void keep_what_was_said(const shared_parts& parts, const operation_id& turn, storage::queries& store);

} // namespace quell::controller::turns
