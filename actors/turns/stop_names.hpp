// Reads about stops in the store: names of operations that are not known to have ended, and earlier acknowledgements of
// a stop.
#pragma once

#include <unordered_map>
#include <vector>

#include "controller/stop_story.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// The first few of them, with their names.
std::vector<not_known> named(const std::vector<stuck_operation>& stuck, store_reader& store);
/// The first few operations that this settled cancel covered and that are not known to have ended.
std::vector<not_known> not_known_of(const cancel_id& cancel, store_reader& store);
/// The last acknowledgement of each of these messages.
std::unordered_map<message_id, stop_telling> acknowledged_before(const std::vector<records::message_record>& stops,
                                                                 store_reader& store);
/// Whether the watchers were told of the decision about this message.
bool was_announced(const records::message_record& stop, store_reader& store);

} // namespace quell::controller::turns
