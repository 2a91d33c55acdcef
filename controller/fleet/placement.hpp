// Places pending tasks on workers. There is one queue per requirement, in which guilds take turns, and in a guild its
// authors (fair_queues.hpp). The queue whose head has the lowest turn is tried first, and a head that fits nowhere
// now does not delay the others.
//
// A large head could wait for ever while small tasks take each slot that becomes free. So a queue whose head was passed
// over often enough reserves one worker: nothing younger is placed there until the head fits.
//
// Tasks of a guild that holds as many slots as it may (`limits.slots_per_guild`, or `slots` of its `[[place]]`) rest
// until it gives some back: they take no turns, and keep nobody else waiting.
//
// Entries that must no longer start stay in their queue until they reach its head or the queue is swept (amortised O(1)
// each): a cancel of 100,000 queued tasks costs nothing here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/fleet/fair_queues.hpp"
#include "controller/fleet/member.hpp"
#include "controller/ledger.hpp"

namespace quell::controller {

struct waiting_queue {
  /// Ordered by the turn of its guild, then by arrival.
  struct place {
    std::uint64_t turn = 0, number = 0;
    friend auto operator<=>(const place&, const place&) = default;
  };
  place head() const { return {entries.turn().guild_turn, entries.front().number}; }
  const requirement* need = nullptr; ///< of no queue
  fair_queues entries;               ///< its next task is chosen, unless all rest
  std::vector<member*> candidates;   ///< they take work and match; as of `roster_version`
  std::uint64_t roster_version = 0;
  bool blocked = false;                ///< its head fits nowhere until capacity changes, or it has none
  std::uint64_t passed_over_since = 0; ///< count of placements when its head was first blocked
  bool head_was_blocked = false;
  member* reserved = nullptr;
  std::string what, detail; ///< the reason why it waits
  std::size_t sweep_at = 1024;
};

class placement {
 public:
  placement(roster& workers, ledger& l) : workers_(workers), ledger_(l) {}
  placement(const placement&) = delete;

  /// All go to the end of the queue; they wait at this moment.
  void enqueue(const requirement& need, const std::vector<operation_id>& ids);
  /// Slots became free, or a worker accepts STARTs again.
  void capacity_changed() { retry_ = true; }
  /// A worker was added, removed, drained or resumed. Call it before a member is erased, with `gone` set to it.
  void roster_changed(const member* gone = nullptr);
  /// Assigns at most `max_starts` tasks and calls `start` for each. True while more can be placed now.
  bool place(moment now, const std::function<void(member&, wire::start)>& start);
  std::size_t queued() const;

  static constexpr std::size_t max_starts = 256;          ///< in one call
  static constexpr std::uint32_t max_unacknowledged = 16; ///< STARTs in flight to a worker beyond its slots
  static constexpr std::uint64_t least_rounds =
      64; ///< placements that pass over a waiting head before it reserves a worker

 private:
  using queue_map = std::map<requirement, waiting_queue>;

  void make_ready(waiting_queue& q);
  void forget(waiting_queue& q);
  /// Takes the head out of its queue and chooses the next one.
  void pop_head(waiting_queue& q);
  bool drop_stale_heads(waiting_queue& q, std::size_t& budget);
  void refresh_candidates(waiting_queue& q);
  member* choose(const waiting_queue& q) const;
  void block(waiting_queue& q);
  /// The guild of its head has no room: the next task is chosen, or none is left.
  void rest(waiting_queue& q);
  void wake_rested();
  /// Guilds have a limit now and had none, or the reverse: everybody waits anew, in the same order.
  void change_lines();
  /// It is ready for its next task, or waits for room.
  void go_on(waiting_queue& q);
  void reserve(waiting_queue& q);
  void release(waiting_queue& q);
  void sweep(waiting_queue& q);
  /// At least half of its tasks wait: it is swept when it has twice as many.
  static void swept(waiting_queue& q);
  void note_waiting(moment now);
  std::pair<std::string, std::string> reason(const waiting_queue& q) const;

  roster& workers_;
  ledger& ledger_;
  queue_map queues_;
  std::set<std::pair<waiting_queue::place, waiting_queue*>> ready_; ///< by the place of the head
  std::uint64_t arrivals_ = 0;
  turn_counts turns_;
  std::uint64_t placements_ = 0;
  std::uint64_t roster_version_ = 1;
  std::uint64_t room_seen_ = 0;  ///< `ledger::guild_room` when those that rest were woken last
  std::uint64_t lines_seen_ = 0; ///< `ledger::moves_of_lines` when they were changed last
  bool retry_ = false;
  bool notes_due_ = false;
};

/// The reason, for display, why no worker can take it at all; "" if one can.
std::string nobody_can(const requirement& need, const roster& workers);
/// True if the worker's name, labels, containment and size fit.
bool matches(const requirement& need, const member& m);

} // namespace quell::controller
