// Recovers the partial text of a model's answer that was never stored.
#pragma once

#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "controller/store_reader.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

/// The text sent in events after the stored answers of this turn (or sub-agent); "" if there is none. Reads the store,
/// so call it on a thread that can wait.
result<std::string> text_left_of(store_reader& store, const records::operation_record& turn);

/// A model's text that a restart cut off is only in events: it is stored as the interrupted answer that a stop would
/// have left.
void recover_partial_text(const agent_runtime& runtime, const operation_id& turn, store_reader& store);
/// The same for a turn and the sub-agents below it.
void recover_texts(const agent_runtime& runtime, const operation_id& turn, store_reader& store);

} // namespace quell::controller::turns
