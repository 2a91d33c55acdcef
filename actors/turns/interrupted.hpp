// Names the work that a stop interrupted: "web_search", "2 queued messages".
#pragma once

#include <string>
#include <vector>

#include "actors/turns/message_order.hpp"
#include "controller/local_operations.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// Chooses the live operations that are worth naming, and counts the messages that wait for their turn. Pure.
void choose_names(kept_decision& into, const std::vector<outlined>& live);

/// The names, each once, with its count; operations that the store no longer knows are left out.
std::vector<std::string> names_of(const kept_decision& kept, store_reader& store);

/// The name for use in a model's prompt: clients choose the names of their operations, so a name that is more than a
/// plain name becomes "other work". A leading number and queued messages stay.
std::string plain_name(const std::string& name);

} // namespace quell::controller::turns
