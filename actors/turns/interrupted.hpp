// Names the work that a stop interrupted ("web_search", "2 queued messages"), and says who had asked for it.
#pragma once

#include <string>
#include <vector>

#include "controller/message_order.hpp"
#include "controller/records/history.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// The names, each once, with its count; operations that the store no longer knows are left out.
std::vector<std::string> names_of(const kept_decision& kept, store_reader& store);

/// The requests whose turns were interrupted, each once, at most 8: as messages of their owners with the turn's title.
std::vector<records::kept_message> requests_of(const kept_decision& kept, store_reader& store);

/// The messages of people for the model that acknowledges a stop: the requests that it ends, if any, in one message
/// behind a note, and the stop. Where several people wrote them, each has its author's name (`speakers`).
std::vector<std::string> stop_conversation(const std::vector<records::kept_message>& requests, const person& author,
                                           const std::string& stop);

/// The name for use in a model's prompt: clients choose the names of their operations, so a name that is more than a
/// plain name becomes "other work". A leading number and queued messages stay.
std::string plain_name(const std::string& name);

} // namespace quell::controller::turns
