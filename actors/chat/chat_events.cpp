// Turns events of the store into those of a chat service.
#include "actors/chat/chat_events.hpp"

namespace quell::controller::chat {

namespace {

constexpr std::uint32_t events_read_at_once = 500; ///< of all services

/// The store leaves out data that is rendered when it is read: here the cancel of the event.
std::string data_of(const records::event_record& e) {
  if (!e.data.empty()) return e.data;
  return e.cancel ? R"({"cancel":")" + e.cancel->text() + R"("})" : "{}";
}

} // namespace

std::string_view service_of(std::string_view scope) { return scope.substr(0, scope.find('/')); }

std::optional<integrations::chat::event> event_for(std::string_view service, const records::event_record& e) {
  if (e.scope && service_of(e.scope->text()) == service)
    return integrations::chat::event{e.id, e.type, *e.scope, e.operation, e.root, data_of(e)};
  // The cancel of an owner or of everything can concern any service.
  if (e.scope || e.type != event_type::cancel_settled) return std::nullopt;
  const auto everywhere = scope_path::parse(std::string(service));
  if (!everywhere) return std::nullopt;
  return integrations::chat::event{e.id, e.type, *everywhere, {}, {}, data_of(e)};
}

result<integrations::chat::event_page> read_events(store_reader& store, std::string_view service, std::uint64_t after) {
  integrations::chat::event_page page;
  const auto oldest = store.oldest_event();
  if (!oldest) return tl::unexpected(oldest.error());
  const auto newest = store.newest_event();
  if (!newest) return tl::unexpected(newest.error());
  page.oldest = oldest->value_or(0);
  page.newest = *newest;
  if (after == 0 || after >= *newest) return page;
  records::event_filter wanted;
  wanted.after = after;
  wanted.limit = events_read_at_once;
  const auto rows = store.events(wanted);
  if (!rows) return tl::unexpected(rows.error());
  for (const auto& row : *rows)
    if (auto e = event_for(service, row)) page.events.push_back(std::move(*e));
  if (rows->size() == wanted.limit) page.next = rows->back().id;
  return page;
}

} // namespace quell::controller::chat
