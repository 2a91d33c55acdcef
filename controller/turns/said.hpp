// What a model had said of an answer that was never stored.
#pragma once

#include <string>

#include "controller/turns/parts.hpp"
#include "protocol/fault.hpp"
#include "storage/queries.hpp"

namespace quell::controller::turns {

/// The text that was told in events behind the stored answers of this turn (or sub-agent); "" if there is none. Reads
/// the store: for a thread that may wait.
result<std::string> text_left_of(storage::queries& store, const storage::operation_record& turn);

/// What a model had said when a restart cut it stands in events alone: it becomes the interrupted answer that a stop
/// would have made of it.
void keep_what_was_said(const shared_parts& parts, const operation_id& turn, storage::queries& store);

} // namespace quell::controller::turns
