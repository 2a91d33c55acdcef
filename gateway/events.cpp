// GET /v1/events and /v1/operations/{id}/events: as SSE from any stored event on, or as JSON pages of stored events.
#include <algorithm>
#include <charconv>

#include "gateway/event_stream.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

void read_types(query_reader& query, events_request& into) {
  for (const auto& list : query.many("types")) {
    std::size_t from = 0;
    while (from <= list.size()) {
      const auto comma = std::min(list.find(',', from), list.size());
      const auto type = list.substr(from, comma - from);
      from = comma + 1;
      const auto listed = event_type_of(type);
      if (listed == event_type::output)
        query.complain("types", "output is served by GET /v1/operations/{id}/output with Accept: text/event-stream");
      else if (!listed)
        query.complain("types", "'" + type.substr(0, 64) + "' is not an event type");
      else
        into.filter.types.push_back(*listed);
    }
  }
}

std::optional<std::uint64_t> event_id(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

events_request read_request(const exchange& x, std::optional<operation_id> below) {
  query_reader query(x.req);
  events_request requested;
  requested.filter.scopes = query.scopes("scope");
  if (!below) requested.exactly = query.id<operation_id>("operation");
  read_types(query, requested);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  requested.after = query.number("after", 0, most);
  if (const auto cursor = query.number("cursor", 0, most)) requested.after = cursor;
  requested.filter.limit = query.limit();
  query.finish();
  if (!x.req.last_event_id.empty()) {
    const auto last = event_id(x.req.last_event_id);
    if (!last)
      throw problem{.code = error_code::bad_request,
                    .detail = "Last-Event-ID must be the id of an event, a decimal number"};
    requested.after = last; // on a reconnect this is newer than the parameter in the original address
  }
  for (const auto& scope : requested.filter.scopes) need_scope(x, scope);
  requested.filter.within = x.who.prefix;
  requested.filter.below = below ? below : requested.exactly ? requested.exactly : x.who.task;
  requested.sees_audit = x.who.role == role::admin && !x.who.prefix;
  if (!requested.sees_audit && requested.filter.names(event_type::audit))
    throw problem{.code = error_code::forbidden,
                  .detail = "the audit is for admins without a scope; leave audit out of types, or use such a token"};
  requested.who = x.share_key();
  return requested;
}

/// The ids of the stored events.
struct kept_range {
  std::optional<std::uint64_t> oldest;
  std::uint64_t newest = 0;
};

awaitable<kept_range> read_range(gateway_context& gw) {
  auto range = co_await gw.read<kept_range>([](store_reader& q) -> result<kept_range> {
    const auto oldest = q.oldest_event();
    if (!oldest) return tl::unexpected(oldest.error());
    const auto newest = q.newest_event();
    if (!newest) return tl::unexpected(newest.error());
    return kept_range{*oldest, *newest};
  });
  co_return range;
}

awaitable<> write_events(thread_context& here, events_request requested, stream_start from,
                         std::shared_ptr<event_watcher> watcher, stream_writer& to) {
  ++here.event_streams;
  const std::shared_ptr<void> counted(nullptr, [&here](void*) { --here.event_streams; });
  event_stream events(here, std::move(requested), from, std::move(watcher), to);
  co_await events.run();
}

awaitable<response> as_stream(exchange& x, events_request requested) {
  auto& gw = x.gw;
  auto held = x.hold();
  response answer;
  answer.content_type = "text/event-stream";
  // Before the store is read, and before the client gets the head: what is stored later comes to the watcher. So a
  // stream that begins now reads no events.
  auto watcher = gw.thread_of(answer.kind).hub.watch(requested.filter, requested.sees_audit);
  const auto range = co_await read_range(gw);
  const stream_start from{requested.after.value_or(range.newest), range.newest};
  if (requested.after) need_kept(from.after, range.oldest);
  answer.stream = [requested = std::move(requested), from, watcher = std::move(watcher),
                   held = std::move(held)](thread_context& here, stream_writer& to) mutable {
    return write_events(here, std::move(requested), from, std::move(watcher), to); // once: the watcher ends over there
  };
  co_return answer;
}

awaitable<response> as_page(exchange& x, events_request requested) {
  auto& gw = x.gw;
  auto filter = requested.filter;
  filter.after = requested.after.value_or(0);
  if (filter.after > 0) {
    const auto range = co_await read_range(gw);
    need_kept(filter.after, range.oldest);
  }
  auto job = [filter](store_reader& q) { return q.events(filter); };
  auto part = co_await x.list<records::event_record>(job);
  auto& events = part.rows;
  const bool more = part.cut_at || events.size() >= filter.limit;
  const auto newest = part.cut_at ? *part.cut_at : events.empty() ? filter.after : events.back().id;
  std::erase_if(events, [&](const auto& e) {
    return !passes(filter, requested.sees_audit, e) || (requested.exactly && e.operation != requested.exactly);
  });
  const auto rendered = co_await render_events(gw, std::move(events));
  json_writer to;
  to.open_object().key("events").open_array();
  for (const auto& event : rendered) to.raw(*event.json);
  to.close_array();
  to.field("next_cursor", more ? std::optional(std::to_string(newest)) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> answer_events(exchange& x, std::optional<operation_id> below) {
  auto requested = read_request(x, below);
  if (requested.filter.below) co_await visible_row(x, *requested.filter.below);
  if (x.req.wants_event_stream()) co_return co_await as_stream(x, std::move(requested));
  co_return co_await as_page(x, std::move(requested));
}

} // namespace

awaitable<response> get_events(exchange& x) { co_return co_await answer_events(x, std::nullopt); }

awaitable<response> get_operation_events(exchange& x) {
  const auto id = path_id<operation_id>(x);
  co_return co_await answer_events(x, id);
}

} // namespace quell::controller::http
