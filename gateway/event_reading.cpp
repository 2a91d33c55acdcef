// Performs one read of the store.
#include "gateway/event_reading.hpp"

#include <algorithm>

#include "gateway/presenter.hpp"

namespace quell::controller::http {

namespace {

struct page_read {
  std::vector<records::event_record> events;
  std::uint64_t newest = 0;
  std::optional<std::uint64_t> oldest;
};

} // namespace

awaitable<kept_events> read_shown_events(thread_context& gw, records::event_filter filter) {
  auto job = [filter](store_reader& q) -> result<std::vector<page_read>> {
    page_read seen;
    // Read before the events: an event that comes in between is seen next time.
    auto newest = q.newest_event();
    if (!newest) return tl::unexpected(newest.error());
    seen.newest = *newest;
    auto oldest = q.oldest_event();
    if (!oldest) return tl::unexpected(oldest.error());
    seen.oldest = *oldest;
    auto events = q.events(filter);
    if (!events) return tl::unexpected(events.error());
    seen.events = std::move(*events);
    return std::vector<page_read>{std::move(seen)};
  };
  std::function<result<std::vector<page_read>>(store_reader&)> read = job;
  list_share share{"quell itself", nullptr};
  auto part = co_await gw.list<page_read>(std::move(share), std::move(read));
  auto& seen = part.rows.front();
  kept_events found;
  found.is_whole = !part.cut_at && seen.events.size() < filter.limit;
  const auto last = part.cut_at ? *part.cut_at : seen.events.empty() ? filter.after : seen.events.back().id;
  found.looked_to = found.is_whole ? std::max(last, seen.newest) : last;
  if (filter.after > 0 && seen.oldest && *seen.oldest > filter.after + 1) found.lost = *seen.oldest - filter.after - 1;
  const bool sees_audit = filter.names(event_type::audit);
  std::erase_if(seen.events, [&](const auto& e) { return !passes(filter, sees_audit, e); });
  auto rendered = co_await render_events(gw, std::move(seen.events));
  for (auto& one : rendered) found.events.push_back({one.record.id, one.record.at, *one.json});
  co_return found;
}

} // namespace quell::controller::http
