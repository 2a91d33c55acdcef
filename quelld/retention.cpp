// Decides which rows can be dropped, and how fast.
//
// An operation is dropped when three conditions hold. Its whole tree ended before the limit (a root is terminal only
// when everything below it is, so the root's end decides). No kept row names it as its parent (a detached child keeps
// those above it). Its id is so old that a repeated create of it would be refused: until then the row makes the repeat
// idempotent. A cancel is dropped when it settled before the limit, no kept operation was stopped by it, and no cutoff
// or tombstone names it. Cutoffs and tombstones have their own time (controller/ledger/clock.cpp).
//
// A conversation outlives the rows of its turns, so the message of a turn that did not complete is told how it ended,
// in the transaction that drops the turn: a request that somebody cancelled a month ago stays a cancelled one.
//
// The race with new work: nothing new can refer to a dropped row. A child of an ended parent is refused, an ended
// operation never changes, and no cancel joins a settled one.
#include "quelld/retention.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "actors/turns/endings.hpp"
#include "protocol/duration.hpp"
#include "storage/queries.hpp"

namespace quell::controller {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_per_slice = 200; // each takes its row out of the table and out of up to five indexes
constexpr std::uint32_t most_looked_at = 1'000;
constexpr std::uint64_t events_per_slice = 1'000;
constexpr auto pause_at_least = 10ms;
constexpr int pause_factor = 4; // times the duration of a slice: retention uses at most a fifth of the writer
constexpr auto when_busy = 100ms;
constexpr int insists_after = 50; // 5 s of load without a pause
constexpr int gives_up_after = 600;

/// Sleeps, unless asked to stop. False: stop.
bool rest(std::chrono::nanoseconds how_long, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, how_long, [] { return false; });
  return !stop.stop_requested();
}

class pass {
 public:
  pass(storage::old_rows& rows, store_reader& store, service& controller, output_store& output, wall_time now,
       milliseconds keep, const std::stop_token& stop)
      : rows_(rows), store_(store), controller_(controller), output_(output), before_(now - keep),
        id_before_(now - id_window), stop_(stop) {}

  result<dropped_counts> run() {
    for (const auto part : {&pass::events, &pass::operations, &pass::cancels}) {
      auto done = (this->*part)();
      if (!done) return tl::unexpected(done.error());
      if (!*done) break;
    }
    return counts_;
  }

 private:
  // For each part: false = stop here.
  result<bool> events() {
    for (std::uint64_t last_oldest = 0;;) {
      const auto range = rows_.events_before(before_);
      if (!range) return tl::unexpected(range.error());
      if (range->last_older == 0 || range->oldest == last_oldest) return true; // the newest of all stays
      last_oldest = range->oldest;
      service::old_things slice;
      slice.events_up_to = std::min(range->last_older, range->oldest + events_per_slice - 1);
      counts_.events += slice.events_up_to - range->oldest + 1;
      if (!drop(std::move(slice))) return false;
    }
  }

  result<bool> operations() {
    const auto first = rows_.first_made_at(before_);
    if (!first) return tl::unexpected(first.error());
    for (auto below = *first; below > 1;) {
      const auto found = rows_.operations(below, most_looked_at);
      if (!found) return tl::unexpected(found.error());
      if (found->empty()) return true;
      service::old_things slice;
      std::unordered_map<operation_id, std::uint64_t> going; // how many children of each go with this slice
      for (const auto& o : *found) {
        below = o.seq;
        const auto children = going.find(o.id);
        const bool is_over = o.ended_at && o.root_ended_at && *o.root_ended_at < before_ && o.id.time() < id_before_ &&
                             o.children == (children == going.end() ? 0 : children->second);
        if (!is_over) {
          if (o.stopped_by) needed_.insert(*o.stopped_by);
          continue;
        }
        if (o.kind == kind::turn)
          if (auto unread = note_ending(o.id, slice)) return tl::unexpected(*unread);
        if (o.parent) ++going[*o.parent];
        slice.operations.push_back(o.id);
        if (slice.operations.size() == most_per_slice) break;
      }
      counts_.operations += slice.operations.size();
      // A crash in between leaves rows without output, which the next pass drops; in the other order their files would
      // stay for ever.
      for (const auto& id : slice.operations) output_.drop(id);
      if (!slice.operations.empty() ? !drop(std::move(slice)) : !rest(pause_at_least, stop_)) return false;
    }
    return true;
  }

  /// A fault: the row cannot be read, so it must not go.
  std::optional<fault> note_ending(const operation_id& turn, service::old_things& slice) {
    const auto row = store_.operation(turn);
    if (!row) return row.error();
    if (!*row) return std::nullopt;
    const auto ending =
        turns::ending_in_conversation(**row, [this](const operation_id& id) { return store_.operation(id); });
    if (auto text = turns::ending_text(ending); !text.empty()) slice.endings.push_back({turn, std::move(text)});
    return std::nullopt;
  }

  result<bool> cancels() {
    const auto named = rows_.named_cancels();
    if (!named) return tl::unexpected(named.error());
    needed_.insert(named->begin(), named->end());
    for (std::uint64_t above = 0;;) {
      const auto found = rows_.settled_cancels(above, most_per_slice);
      if (!found) return tl::unexpected(found.error());
      service::old_things slice;
      for (const auto& c : *found) {
        above = c.seq;
        const auto took = milliseconds{static_cast<std::int64_t>(c.report.settled_ms.value_or(0))};
        if (c.created_at + took < before_ && c.id.time() < id_before_ && !needed_.contains(c.id))
          slice.cancels.push_back(c.id);
      }
      counts_.cancels += slice.cancels.size();
      if (!slice.cancels.empty() ? !drop(std::move(slice)) : !rest(pause_at_least, stop_)) return false;
      if (found->empty() || found->back().created_at >= before_) return true;
    }
  }

  /// Drops one slice: asks until the controller has room, waits until it is durable, and rests in proportion.
  bool drop(service::old_things slice) {
    for (int tries = 0; tries < gives_up_after; ++tries) {
      if (tries >= insists_after) slice.gives_way = gives_way_to::cancels;
      const auto began = std::chrono::steady_clock::now();
      if (ask(slice)) {
        const auto took = std::chrono::steady_clock::now() - began;
        return rest(std::max<std::chrono::nanoseconds>(took * pause_factor, pause_at_least), stop_);
      }
      if (!rest(when_busy, stop_)) return false;
    }
    return false;
  }

  bool ask(const service::old_things& slice) {
    struct answer {
      std::mutex mutex;
      std::condition_variable_any came;
      std::optional<bool> done;
    };
    const auto waiting = std::make_shared<answer>();
    controller_.drop_old(slice, [waiting](bool done) {
      const std::lock_guard lock(waiting->mutex);
      waiting->done = done;
      waiting->came.notify_all();
    });
    std::unique_lock lock(waiting->mutex);
    waiting->came.wait(lock, stop_, [&] { return waiting->done.has_value(); });
    return waiting->done.value_or(false);
  }

  storage::old_rows& rows_;
  store_reader& store_;
  service& controller_;
  output_store& output_;
  const wall_time before_, id_before_;
  const std::stop_token& stop_;
  std::unordered_set<cancel_id> needed_; ///< by kept operations, cutoffs, tombstones
  dropped_counts counts_;
};

class retention_thread final : public retention {
 public:
  retention_thread(options o, std::unique_ptr<storage::old_rows> rows, std::unique_ptr<store_reader> store,
                   service& controller, output_store& output)
      : options_(std::move(o)), rows_(std::move(rows)), store_(std::move(store)),
        thread_([this, &controller, &output](const std::stop_token& stop) { run(controller, output, stop); }) {}

 private:
  void run(service& controller, output_store& output, const std::stop_token& stop) {
    // Often enough that the limit is exceeded by only a few per cent.
    const auto interval = std::clamp<milliseconds>(options_.keep / 24, 500ms, 1h);
    auto next = std::min<milliseconds>(interval, 10s);
    while (rest(next, stop)) {
      next = interval;
      const auto now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
      const auto done = drop_old_things(*rows_, *store_, controller, output, now, options_.keep, stop);
      if (!done)
        spdlog::warn("old operations are kept for now: {}", done.error().detail);
      else if (done->operations + done->cancels > 0)
        spdlog::info("{} operations, {} cancels and {} events older than {} are no longer kept", done->operations,
                     done->cancels, done->events, duration_text(options_.keep));
    }
  }

  options options_;
  std::unique_ptr<storage::old_rows> rows_;
  std::unique_ptr<store_reader> store_;
  std::jthread thread_; // last: it uses all of the above
};

} // namespace

result<dropped_counts> drop_old_things(storage::old_rows& rows, store_reader& store, service& controller,
                                       output_store& output, wall_time now, milliseconds keep,
                                       const std::stop_token& stop) {
  return pass(rows, store, controller, output, now, keep, stop).run();
}

result<std::unique_ptr<retention>> retention::start(options o, service& controller, output_store& output) {
  auto rows = storage::old_rows::open(o.state_directory);
  if (!rows) return tl::unexpected(rows.error());
  auto store = storage::open_reader(o.state_directory);
  if (!store) return tl::unexpected(store.error());
  return std::make_unique<retention_thread>(std::move(o), std::move(*rows), std::move(*store), controller, output);
}

} // namespace quell::controller
