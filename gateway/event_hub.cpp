// Distribution of committed events.
#include "gateway/event_hub.hpp"

#include <algorithm>
#include <limits>

namespace quell::controller::http {

namespace {

constexpr std::size_t batch = 256;
constexpr std::size_t max_unrendered = 100'000;
constexpr std::size_t most_waiting_moments = 1'000; ///< beyond this, events that are not stored are skipped
constexpr std::size_t most_forgotten = 16;     ///< beyond this, and half of all, watchers that have gone are removed
constexpr std::size_t most_behind_moments = 8; ///< a watcher with more to write is not shown them

/// Removes one waiter when its ticket is destroyed.
template <class Map>
std::shared_ptr<void> ticket_for(Map& map, typename Map::iterator at, std::atomic<int>& interested) {
  ++interested;
  return {nullptr, [&map, at, &interested](void*) {
            map.erase(at);
            --interested;
          }};
}

} // namespace

namespace {

bool is_within(const records::event_filter& filter, const records::event_record& event) {
  // A caller limited to a scope sees only events with a scope, live as in the store: a resumed stream must not differ
  // from an uninterrupted one.
  if (filter.within && !(event.scope && event.scope->is_at_or_below(*filter.within))) return false;
  if (filter.scopes.empty()) return true;
  return event.scope && std::any_of(filter.scopes.begin(), filter.scopes.end(),
                                    [&](const scope_path& s) { return event.scope->is_at_or_below(s); });
}

/// An event of this moment, which is not stored, goes only to who asked for it.
bool wants(const wanted_events& watcher, const records::event_record& event) {
  if (!is_of_this_moment(event)) return passes(watcher.filter, watcher.sees_audit, event);
  const bool is_requested_for = watcher.filter.has_types() ? watcher.filter.names(event) : watcher.shows_live;
  return is_requested_for && is_within(watcher.filter, event);
}

/// The same for two watchers exactly if they want the same: every part that `wants` looks at. No scope or type holds
/// such separators.
std::string key_of(const wanted_events& what) {
  std::string text =
      std::to_string(what.filter.after) + (what.sees_audit ? " audit" : "") + (what.shows_live ? " live" : "");
  for (const auto& scope : what.filter.scopes) (text += "\ns") += scope.text();
  if (what.filter.within) (text += "\nw") += what.filter.within->text();
  for (const auto type : what.filter.types) (text += "\nt") += std::to_string(static_cast<int>(type));
  for (const auto& type : what.filter.unlisted_types) (text += "\nu") += std::to_string(type.size()) + ' ' + type;
  return text;
}

} // namespace

bool passes(const records::event_filter& filter, bool sees_audit, const records::event_record& event) {
  if (event.id <= filter.after) return false;
  if (event.type == event_type::audit && !sees_audit) return false;
  return (!filter.has_types() || filter.names(event)) && is_within(filter, event);
}

void event_hub::publish(const records::event_record& event) {
  const bool matters_to_polls =
      polls_.load() > 0 && (event.cancel || ends_operation(event.type) || event.type == event_type::approval_required);
  if (!matters_to_polls && following_.load() == 0) return;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_of_this_moment(event) && inbox_.size() >= most_waiting_moments) return;
    wake = inbox_.empty();
    inbox_.push_back(event);
  }
  if (wake) post_to(io_, [this] { drain(); });
}

std::shared_ptr<void> event_hub::watch(const operation_id& id, std::shared_ptr<signal> wake) {
  return ticket_for(by_operation_, by_operation_.emplace(id, std::move(wake)), polls_);
}

std::shared_ptr<void> event_hub::watch(const cancel_id& id, std::shared_ptr<signal> wake) {
  return ticket_for(by_cancel_, by_cancel_.emplace(id, std::move(wake)), polls_);
}

std::shared_ptr<event_watcher> event_hub::watch(records::event_filter filter, bool sees_audit) {
  ++following_;
  std::shared_ptr<event_watcher> watcher(new event_watcher(io_), [this](event_watcher* gone) {
    --following_;
    delete gone;
  });
  watcher->filter = std::move(filter);
  watcher->sees_audit = sees_audit;
  const std::lock_guard lock(mutex_);
  newcomers_.push_back(watcher);
  // Where nothing happens, nobody takes them in.
  if (newcomers_.size() > most_with_gone())
    newcomers_.remove_if([](const std::weak_ptr<event_watcher>& weak) { return weak.expired(); });
  return watcher;
}

std::size_t event_hub::most_with_gone() const {
  return 2 * static_cast<std::size_t>(std::max(following_.load(), 0)) + most_forgotten;
}

/// Without the lock, which the core's thread takes, too: it must not wait while the filters of thousands are read.
void event_hub::take_in(std::list<std::weak_ptr<event_watcher>> newcomers) {
  const auto note = [this](const std::weak_ptr<event_watcher>& weak) {
    if (const auto watcher = weak.lock()) wanted_.try_emplace(key_of(*watcher), *watcher);
  };
  std::for_each(newcomers.begin(), newcomers.end(), note);
  streams_.splice(streams_.end(), newcomers);
  if (streams_.size() <= most_with_gone()) return;
  streams_.remove_if([](const auto& weak) { return weak.expired(); });
  wanted_.clear();
  std::for_each(streams_.begin(), streams_.end(), note);
}

void event_hub::drain() {
  std::vector<records::event_record> fresh;
  std::list<std::weak_ptr<event_watcher>> newcomers;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(inbox_);
    newcomers.swap(newcomers_);
  }
  take_in(std::move(newcomers));
  for (auto& event : fresh) {
    if (event.operation && ends_operation(event.type)) {
      const auto [first, last] = by_operation_.equal_range(*event.operation);
      for (auto it = first; it != last; ++it) it->second->notify();
    }
    if (event.root && event.type == event_type::approval_required) {
      const auto [first, last] = by_operation_.equal_range(*event.root);
      for (auto it = first; it != last; ++it) it->second->notify();
    }
    if (event.cancel) {
      const auto [first, last] = by_cancel_.equal_range(*event.cancel);
      for (auto it = first; it != last; ++it) it->second->notify();
    }
    if (is_of_this_moment(event) && unrendered_.size() >= most_waiting_moments) continue;
    if (anybody_wants(event)) unrendered_.push_back(std::move(event));
  }
  if (unrendered_.size() > max_unrendered) {
    // No watcher could keep up with this.
    lose_all();
  }
  if (!unrendered_.empty()) fresh_.notify();
}

void event_hub::lose_all() {
  unrendered_.clear();
  for (auto& weak : streams_)
    if (const auto watcher = weak.lock()) {
      if (!watcher->lagging) ++lost_;
      watcher->lagging = true;
      watcher->arrived.notify();
    }
}

event_hub::distance event_hub::lag() {
  distance d;
  d.lost = lost_;
  for (const auto& weak : streams_)
    if (const auto watcher = weak.lock()) d.longest_queue = std::max(d.longest_queue, watcher->queue.size());
  const std::lock_guard lock(mutex_);
  d.undistributed = inbox_.size() + unrendered_.size();
  return d;
}

bool event_hub::anybody_wants(const records::event_record& event) const {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& one) { return wants(one.second, event); });
}

std::string frame_of(std::uint64_t id, std::string_view type, std::string_view json) {
  std::string frame = id == 0 ? "event: " : "id: " + std::to_string(id) + "\nevent: ";
  frame.reserve(frame.size() + type.size() + json.size() + 16);
  frame += type;
  frame += "\ndata: ";
  frame += json;
  return frame += "\n\n";
}

void event_hub::distribute(rendered_event fresh) {
  fresh.frame = frame_of(fresh.record.id, text_of(fresh.record), *fresh.json);
  const auto event = std::make_shared<const rendered_event>(std::move(fresh));
  for (auto& weak : streams_) {
    const auto watcher = weak.lock();
    if (!watcher || watcher->lagging || !wants(*watcher, event->record)) continue;
    if (is_of_this_moment(event->record) && watcher->queue.size() >= most_behind_moments) continue;
    if (watcher->queue.size() >= max_lag_) {
      watcher->lagging = true;
      ++lost_;
      watcher->queue.clear();
    } else {
      watcher->queue.push_back(event);
    }
    if (!watcher->is_replaying) watcher->arrived.notify();
  }
}

awaitable<> event_hub::run(renderer render) {
  while (!closed_) {
    if (unrendered_.empty()) {
      co_await fresh_.wait_until(std::chrono::steady_clock::now() + std::chrono::hours(24));
      continue;
    }
    std::vector<records::event_record> events;
    while (!unrendered_.empty() && events.size() < batch) {
      events.push_back(std::move(unrendered_.front()));
      unrendered_.pop_front();
    }
    auto rendered = co_await render(std::move(events));
    for (auto& event : rendered) distribute(std::move(event));
  }
}

void event_hub::close() {
  closed_ = true;
  fresh_.notify();
  for (auto& [id, wake] : by_operation_) wake->notify();
  for (auto& [id, wake] : by_cancel_) wake->notify();
  std::list<std::weak_ptr<event_watcher>> newcomers;
  {
    const std::lock_guard lock(mutex_);
    newcomers.swap(newcomers_);
  }
  take_in(std::move(newcomers));
  for (auto& weak : streams_)
    if (const auto watcher = weak.lock()) watcher->arrived.notify();
}

} // namespace quell::controller::http
