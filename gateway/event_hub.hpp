// Delivers committed events to their watchers: long polls (one operation or cancel) and event streams (a filter and a
// queue).
//
// Order: the controller publishes in commit order, after the commit, and ids grow in that order: events of a batch that
// the disk refused get new ids when it is tried again. A watcher subscribes first and then reads the store, so no event
// is missed; the event's id identifies one that comes by both ways. Only `publish`, and `watch` for a stream, may be
// called from other threads. Each thread of the gateway has a hub of its own.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/service.hpp"
#include "controller/store_reader.hpp"
#include "gateway/awaiting.hpp"

namespace quell::controller::http {

/// An event with its JSON, rendered once for all watchers.
struct rendered_event {
  records::event_record record;
  std::shared_ptr<const std::string> json;
  std::string frame = {}; ///< as streams write it; made when the first stream gets it
};
/// It is not stored, has no id, and is shown only to streams that keep up.
inline bool is_of_this_moment(const records::event_record& event) { return event.id == 0; }
/// The event as an SSE frame; `id` 0: without one.
std::string frame_of(std::uint64_t id, std::string_view type, std::string_view json);

/// True if the part of `filter` that needs no store lets `event` through (the watcher checks `below`). `audit` needs
/// `sees_audit`.
bool passes(const records::event_filter& filter, bool sees_audit, const records::event_record& event);

/// The events that a stream wants, as far as that needs no store.
struct wanted_events {
  records::event_filter filter;
  bool sees_audit = false;
  bool shows_live = false; ///< also events that are not stored, unless `filter` names types
};

/// The thread of the hub sets `shows_live` right behind `watch`, or not at all.
struct event_watcher : wanted_events {
  event_watcher(io_context& io) : arrived(io) {}
  std::deque<std::shared_ptr<const rendered_event>> queue; ///< each shared by all its receivers
  bool lagging = false;                                    ///< too far behind: will be closed
  bool is_replaying = false; ///< its stream reads the store and looks at the queue afterwards: events wake nobody
  signal arrived;
};

class event_hub {
 public:
  using renderer = std::function<awaitable<std::vector<rendered_event>>(std::vector<records::event_record>)>;

  event_hub(io_context& io, std::size_t max_lag) : io_(io), max_lag_(max_lag), fresh_(io) {}

  /// Any thread. Cheap without watchers.
  void publish(const records::event_record& event);

  /// Wakes `wake` at each terminal event of this operation, or each event of this cancel, while the ticket lives.
  [[nodiscard]] std::shared_ptr<void> watch(const operation_id& id, std::shared_ptr<signal> wake);
  [[nodiscard]] std::shared_ptr<void> watch(const cancel_id& id, std::shared_ptr<signal> wake);
  /// A stream watcher; it is removed when its last owner releases it. Any thread may do both, what is between belongs
  /// to the thread of the hub.
  ///
  /// Each event that is published after this call reaches the queue, and perhaps some from before: `publish` sees that
  /// somebody follows and puts the event into the inbox behind the watcher, under the lock under which `drain` takes
  /// both. So whoever calls this first and then reads the newest id of the store misses nothing: an event that is not
  /// in the store at that read is committed later, and published later still.
  std::shared_ptr<event_watcher> watch(records::event_filter filter, bool sees_audit);

  /// Renders and distributes until `close`.
  awaitable<> run(renderer render);
  /// How far watchers are behind: the longest queue, and the events not distributed yet.
  struct distance {
    std::size_t longest_queue = 0, undistributed = 0;
    std::uint64_t lost = 0; ///< streams that were closed because they lagged
  };
  distance lag();
  /// Marks every stream as lagging: they close and resume from the store by id.
  void lose_all();
  /// Wakes all watchers for the last time.
  void close();
  bool closed() const { return closed_; }

 private:
  void drain();
  std::size_t most_with_gone() const;
  void take_in(std::list<std::weak_ptr<event_watcher>> newcomers);
  void distribute(rendered_event event);
  bool anybody_wants(const records::event_record& event) const;

  io_context& io_;
  const std::size_t max_lag_;
  std::atomic<int> polls_{0}, following_{0}; ///< watchers of one operation or cancel, and streams
  std::mutex mutex_;
  std::vector<records::event_record> inbox_;          // under mutex_
  std::list<std::weak_ptr<event_watcher>> newcomers_; // under mutex_; everything below belongs to the thread of io_
  std::multimap<operation_id, std::shared_ptr<signal>> by_operation_;
  std::multimap<cancel_id, std::shared_ptr<signal>> by_cancel_;
  std::list<std::weak_ptr<event_watcher>> streams_;
  /// Their filters, each once, by its text, and perhaps those of watchers that have gone: thousands of watchers want
  /// the same, and most events are wanted by none of them.
  std::unordered_map<std::string, wanted_events> wanted_;
  std::deque<records::event_record> unrendered_;
  signal fresh_;
  bool closed_ = false;
  std::uint64_t lost_ = 0;
};

} // namespace quell::controller::http
