// Names the work that a stop interrupted: "web_search", "2 queued messages".
#pragma once

#include <string>
#include <vector>

#include "controller/message_order.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// The names, each once, with its count; operations that the store no longer knows are left out.
std::vector<std::string> names_of(const kept_decision& kept, store_reader& store);

/// The name for use in a model's prompt: clients choose the names of their operations, so a name that is more than a
/// plain name becomes "other work". A leading number and queued messages stay.
std::string plain_name(const std::string& name);

} // namespace quell::controller::turns
