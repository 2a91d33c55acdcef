// The events of a chat service, as its connector gets them.
#pragma once

#include <optional>
#include <string_view>

#include "controller/records/records.hpp"
#include "controller/store_reader.hpp"
#include "integrations/chat/chat.hpp"

namespace quell::controller::chat {

/// The first segment of a scope: the name of its service.
std::string_view service_of(std::string_view scope);

/// The event for the connector of this service; nullopt: it does not concern it.
std::optional<integrations::chat::event> event_for(std::string_view service, const records::event_record& e);

/// A page of the service's stored events behind the id `after`. Fault: of the store.
result<integrations::chat::event_page> read_events(store_reader& store, std::string_view service, std::uint64_t after);

} // namespace quell::controller::chat
