// What a stop interrupted, in words: "web_search", "2 queued messages".
#pragma once

#include <string>
#include <vector>

#include "controller/actor_books.hpp"
#include "controller/turns/message_order.hpp"
#include "storage/queries.hpp"

namespace quell::controller::turns {

/// Picks those that are worth a name out of what lives, and counts the messages that wait for their turn. Pure.
void choose_names(kept_decision& into, const std::vector<outlined>& live);

/// The names, each once, with how often it comes; what the store does not know any more is left out.
std::vector<std::string> names_of(const kept_decision& kept, storage::queries& store);

/// The name for the eyes of a model: clients choose the names of their operations, and what is no mere name is told as
/// "other work". A number in front, and queued messages, stay.
std::string plain_name(const std::string& name);

} // namespace quell::controller::turns
