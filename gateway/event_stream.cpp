// Replays stored events, then writes the watcher's queue, until the client disconnects, lags, or has received the end
// that it waits for.
#include "gateway/event_stream.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>

#include "controller/stop_story.hpp"

namespace quell::controller::http {

namespace {

constexpr std::uint32_t replay_page = 250;
constexpr std::size_t write_bytes = 64 * 1024;
constexpr const char* still_here = ": still here\n\n";

bool is_end_of(const records::event_record& e, const operation_id& id) {
  return e.operation == id && ends_operation(e.type);
}

/// "" = none.
std::string state_of(const records::event_record& acknowledgement) {
  const auto data = nlohmann::json::parse(acknowledgement.data, nullptr, false);
  return data.is_object() ? data.value("state", std::string()) : std::string();
}

using page_job = std::function<result<kept_page>(limited_store_reader&, std::optional<std::uint64_t>& cut_at)>;

/// Reads as many stored events as one turn of a list allows, and their rows in the same turn.
page_job job_for(const events_request& requested, records::event_filter filter) {
  const auto is_wanted = [all = requested.filter, sees_audit = requested.sees_audit,
                          exactly = requested.exactly](const records::event_record& e) {
    return passes(all, sees_audit, e) && (!exactly || e.operation == exactly);
  };
  return [filter = std::move(filter), is_wanted](limited_store_reader& q,
                                                 std::optional<std::uint64_t>& cut_at) -> result<kept_page> {
    auto events = q.events(filter);
    if (!events) return tl::unexpected(events.error());
    cut_at = q.cut_at();
    const auto oldest = q.oldest_event();
    if (!oldest) return tl::unexpected(oldest.error());
    kept_page page{std::move(*events), {}, *oldest, cut_at};
    if (!page.looked_to && !page.events.empty()) page.looked_to = page.events.back().id;
    std::erase_if(page.events, [&](const auto& e) { return !is_wanted(e); });
    for (const auto& id : operations_of(page.events)) {
      auto row = q.operation(id);
      if (!row) return tl::unexpected(row.error());
      if (*row) page.rows.push_back(std::move(**row));
    }
    return page;
  };
}

/// One read of a stream, and its end: a read that nobody waits for any more is not performed. Meanwhile events do not
/// wake the stream.
struct reading {
  explicit reading(event_watcher& of) : watcher(of) { watcher.is_replaying = true; }
  ~reading() {
    watcher.is_replaying = false;
    *is_over = true;
  }
  event_watcher& watcher;
  std::shared_ptr<std::atomic<bool>> is_over = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::optional<result<kept_page>>> found = std::make_shared<std::optional<result<kept_page>>>();
};

} // namespace

void need_kept(std::uint64_t after, const std::optional<std::uint64_t>& oldest) {
  if (after == 0 || !oldest || after + 1 >= *oldest) return;
  throw problem{.code = error_code::events_expired,
                .detail = "events after " + std::to_string(after) + " are no longer kept; the oldest is " +
                          std::to_string(*oldest) + ": read the operations anew and follow from there",
                .members = {{"oldest", '"' + std::to_string(*oldest) + '"'}}};
}

bool text_merger::add(const rendered_event& event) {
  if (event.record.type != event_type::text_delta && event.record.type != event_type::thinking_delta) return false;
  const auto data = nlohmann::json::parse(event.record.data, nullptr, false);
  if (!data.is_object() ||
      (!text_.empty() && (last_.operation != event.record.operation || last_.type != event.record.type)))
    return false;
  if (text_.empty()) offset_ = data.value("offset", std::uint64_t{0});
  text_ += data.value("text", "");
  last_ = event.record;
  return true;
}

std::string text_merger::take() {
  if (text_.empty()) return {};
  const auto optional_text = [](const auto& id) { return id ? nlohmann::json(id->text()) : nlohmann::json(); };
  const nlohmann::json envelope = {{"id", std::to_string(last_.id)},
                                   {"type", text_of(last_)},
                                   {"at", instant_text(last_.at)},
                                   {"scope", optional_text(last_.scope)},
                                   {"operation", optional_text(last_.operation)},
                                   {"root", optional_text(last_.root)},
                                   {"cancel", nullptr},
                                   {"worker", nullptr},
                                   {"data", {{"offset", offset_}, {"text", text_}}}};
  std::string frames;
  frames = frame_of(last_.id, text_of(last_), envelope.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  text_.clear();
  return frames;
}

event_stream::event_stream(thread_context& gw, events_request requested, stream_start from,
                           std::shared_ptr<event_watcher> watcher, stream_writer& to, stream_manner how)
    : gw_(gw), requested_(std::move(requested)), last_(from.after), has_id_(from.after > 0), stored_to_(from.stored_to),
      watcher_(std::move(watcher)), to_(to), how_(std::move(how)) {}

wait_deadline event_stream::wake_up() const {
  const auto comment = std::chrono::steady_clock::now() + gw_.options.comment_interval;
  return merged_.is_empty() ? comment : std::min(comment, flush_at_);
}

awaitable<> event_stream::run() {
  to_.wake_on_close(std::shared_ptr<signal>(watcher_, &watcher_->arrived));
  bool alive = co_await to_.write(how_.as_frame ? ": quell\n\n" : "retry: 1000\n\n");
  if (alive) alive = co_await replay();
  while (alive && !to_.closed() && !gw_.stopping) {
    if (has_ended_) co_return;
    if (watcher_->lagging) {
      // The turn of a client that cannot must not be stopped because the stream lags.
      if (can_resume()) co_return;
      alive = co_await replay();
      continue;
    }
    if (watcher_->queue.empty()) {
      const bool woken = co_await watcher_->arrived.wait_until(wake_up());
      if (woken) continue;
      std::string frames = merged_.take();
      if (frames.empty()) frames = still_here;
      alive = co_await to_.write(std::move(frames));
      continue;
    }
    std::string frames;
    while (!watcher_->queue.empty() && frames.size() < write_bytes) {
      const auto event = std::move(watcher_->queue.front());
      watcher_->queue.pop_front();
      bool wanted = admits(event->record);
      if (wanted && needs_tree()) wanted = co_await lies_below(event->record);
      if (wanted) append(frames, *event);
    }
    if (!frames.empty()) alive = co_await to_.write(std::move(frames));
  }
}

/// Writes the stored events after `last_`, page by page: up to those that come to the watcher's queue, or until there
/// are no more. New events collect in the queue meanwhile; if there are too many they are dropped there, because they
/// are in the store, too, which is then read to its end. False if the stream has ended.
awaitable<bool> event_stream::replay() {
  auto filter = requested_.filter;
  filter.limit = replay_page;
  while (!to_.closed() && !gw_.stopping) {
    if (std::exchange(watcher_->lagging, false)) stored_to_.reset();
    if (stored_to_ && last_ >= *stored_to_) break;
    filter.after = last_;
    filter.up_to = stored_to_;
    auto page = co_await read_kept(filter);
    if (!page) co_return false;
    if (can_resume() && has_id_) need_kept(last_, page->oldest); // it can have waited for long
    if (!page->looked_to && !watcher_->lagging) break;
    if (!page->looked_to) continue;
    std::erase_if(page->events, [&](const auto& e) { return !is_exact(e); });
    const auto rendered = co_await render_events(gw_, std::move(page->events), std::move(page->rows));
    std::string frames;
    for (const auto& event : rendered) append(frames, event);
    last_ = *page->looked_to;
    if (frames.empty()) continue;
    const bool alive = co_await to_.write(std::move(frames));
    if (!alive) co_return false;
  }
  co_return true;
}

/// The next page, in the turn of `requested_.who`; nullopt: nobody is there any more to get it. It is waited for as
/// long as the client is there, who is told with comments that the stream lives: to give up would bring the client back
/// to the end of the same queue, and all others with it.
awaitable<std::optional<kept_page>> event_stream::read_kept(records::event_filter filter) {
  const reading now(*watcher_);
  // Not the share of the token's lists, which would wait behind its streams.
  list_share share{"streams of " + requested_.who, now.is_over, std::numeric_limits<std::size_t>::max()};
  auto reply = [io = gw_.io, into = now.found, from = std::weak_ptr(watcher_)](result<kept_page> found) {
    auto kept = std::make_shared<result<kept_page>>(std::move(found));
    post_to(*io, [into, from, kept] {
      *into = std::move(*kept);
      if (const auto watcher = from.lock()) watcher->arrived.notify();
    });
  };
  gw_.store->begin_list<kept_page>(std::move(share), job_for(requested_, std::move(filter)), std::move(reply));
  while (!*now.found && !to_.closed() && !gw_.stopping) {
    const bool woken =
        co_await watcher_->arrived.wait_until(std::chrono::steady_clock::now() + gw_.options.comment_interval);
    if (woken) continue;
    const bool alive = co_await to_.write(still_here);
    if (!alive) break;
  }
  if (!*now.found) co_return std::nullopt;
  if (!**now.found) throw_read_fault((*now.found)->error());
  co_return std::move(***now.found);
}

bool event_stream::is_exact(const records::event_record& event) const {
  if (how_.until_stopped && !is_of_story(event)) return false;
  return !requested_.exactly || event.operation == requested_.exactly;
}

bool event_stream::is_of_story(const records::event_record& event) const {
  if (event.cancel != how_.until_stopped->cancel) return false;
  return event.type != event_type::acknowledgement ||
         event.data.find(how_.until_stopped->message.text()) != std::string::npos;
}

void event_stream::note_story(const records::event_record& event) {
  if (event.type == event_type::acknowledgement)
    is_acknowledged_ = !turns::more_follows(state_of(event));
  else
    is_settled_ = true;
  has_ended_ = is_acknowledged_ && is_settled_;
}

bool event_stream::admits(const records::event_record& event) const {
  return (event.id > last_ || is_of_this_moment(event)) && is_exact(event);
}

bool event_stream::needs_tree() const { return requested_.filter.below && !requested_.exactly; }

/// The part of the filter that needs the tree.
awaitable<bool> event_stream::lies_below(const records::event_record& event) {
  if (!event.operation) co_return false;
  const auto below = *requested_.filter.below;
  const auto id = *event.operation;
  if (id == below || event.root == requested_.filter.below) co_return true;
  if (const auto known = is_below_.find(id); known != is_below_.end()) co_return known->second;
  const bool inside = co_await gw_.read<bool>([id, below](store_reader& q) { return q.is_below(id, below); });
  if (is_below_.size() >= 10'000) is_below_.clear();
  is_below_.emplace(id, inside);
  co_return inside;
}

void event_stream::append(std::string& frames, const rendered_event& event) {
  if (has_ended_) return; // a late event of an operation below
  last_ = std::max(last_, event.record.id);
  has_id_ = has_id_ || event.record.id > 0;
  if (how_.merge_text.count() > 0) {
    const bool was_empty = merged_.is_empty();
    if (merged_.add(event)) {
      if (was_empty) flush_at_ = std::chrono::steady_clock::now() + how_.merge_text;
      if (std::chrono::steady_clock::now() >= flush_at_) frames += merged_.take();
      return;
    }
    frames += merged_.take();
  }
  if (how_.as_frame)
    frames += how_.as_frame(event);
  else
    frames += event.frame.empty() ? frame_of(event.record.id, text_of(event.record), *event.json) : event.frame;
  has_ended_ = how_.until_end && is_end_of(event.record, *how_.until_end);
  if (how_.until_stopped) note_story(event.record);
}

} // namespace quell::controller::http
