// The ledger: the tree of live operations, scopes, cutoffs, tombstones and open cancels. The pure heart: orders and
// reports in, effects out.
//
// No clock, randomness, I/O or threads: `moment` and fresh ids come in as arguments. Every call may add effects, which
// the owner takes with `take()`, makes durable (journal) and only then performs (frames, events, answers) in the order
// in which they were made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/actor_books.hpp"
#include "controller/external_books.hpp"
#include "controller/orders.hpp"
#include "controller/tree_page.hpp"
#include "storage/journal.hpp"

namespace quell::controller {

struct ledger_settings {
  milliseconds default_grace{2000};
  std::optional<containment> min_containment;
  milliseconds tombstone_keep{24 * 3600 * 1000};
  std::size_t max_live_operations = 2'000'000; ///< more: 429 too_many_operations
  std::size_t max_depth = 64;                  ///< of the tree; deeper: 422 invalid_field /parent
  std::size_t max_children = 100'000;
  std::size_t max_tombstones_per_token = 10'000;
  // 0 = no limit:
  std::size_t max_live_per_author = 0;
  std::size_t max_live_per_scope = 0;   ///< in a scope and everything below it; the root has `max_live_operations`
  std::size_t max_turns_per_author = 0; ///< that run or wait
  milliseconds worker_lease{10000};     ///< for dead_by of tasks without their own
  milliseconds longest_lease{60000};    ///< the longest that a worker is ever granted: a handover's
  std::size_t leaves_per_step = 1'000;  ///< how much one `step` rolls out
};

/// Why, and by whose order, work was stopped by something that is no cancel.
struct stop_words {
  std::string reason;
  storage::person by;
};

/// What a pending task needs of a worker; equal requirements share one queue.
struct requirement {
  std::optional<std::string> worker;
  std::map<std::string, std::string> on;
  std::uint32_t slots = 1;
  std::optional<containment> least;
  std::uint8_t line = 0; ///< authors of different lines wait apart, so that each line gets its share of slots
  friend auto operator<=>(const requirement&, const requirement&) = default;
};

/// A stop to send to these workers, on each one's ordered channel.
struct stop_order {
  std::vector<std::string> workers;
  wire::stop message;
};

struct ledger_effects {
  std::vector<storage::entry> journal;                         ///< events are among them (put_event)
  std::vector<std::pair<requirement, operation_id>> placeable; ///< newly pending: to the end of their queues
  std::vector<stop_order> stops;
  std::vector<std::pair<std::string, std::uint32_t>> freed; ///< (worker, slots) given back, after proof only
  std::vector<std::pair<std::string, operation_id>>
      stored;                                 ///< (worker, result) to be acknowledged once this is durable
  std::vector<cancel_id> cancels_changed;     ///< status or counts changed: wake those who wait
  std::vector<ended_operation> ended;         ///< became terminal
  std::vector<actor_signal> signals;          ///< for operations of this process, in order
  std::vector<external_signal> owner_signals; ///< for owners of external operations, in order
  bool empty() const;
};

/// The fleet's word on a worker, asked when `unreachable`, dead_by and `why` are derived.
struct reachability {
  bool reachable = true;
  std::optional<wall_time> since; ///< silent since
  std::function<std::optional<wall_time>(std::optional<milliseconds> task_lease)> dead_by;
};

class ledger {
 public:
  virtual ~ledger() = default;
  static std::unique_ptr<ledger> make(ledger_settings s, storage::recovered_state recovered, moment now);

  /// Asked (synchronously, cheap) for a worker's reachability. Set before use; absent = reachable.
  virtual void ask_reachability(std::function<reachability(const std::string& worker)> ask) = 0;
  virtual ledger_effects take() = 0;
  /// Rolls out at most ~1,000 leaves of what is being stopped (never-sent work ends here; running work gets its
  /// `cancelling` event and row). True while there is more: call again after the journal has taken this batch.
  virtual bool step(moment now) = 0;
  /// Timeouts, expiry of tombstones, drain deadlines, bounds. Returns when it next wants to be called.
  virtual std::optional<boot_time> tick(moment now) = 0;

  // ---- orders -------------------------------------------------------------------------------------------------
  /// `fresh` is the id to use if the order names none.
  virtual outcome<created> create(const create_order& order, operation_id fresh, moment now) = 0;
  virtual outcome<cancel_view> cancel(const cancel_order& order, cancel_id fresh, moment now) = 0;
  /// The cancel's intent is durable (or could not be made so): stamps fenced_ms; emits cancel_fenced; may signal and
  /// settle at once.
  virtual void cancel_fenced(const cancel_id& id, bool durable, moment now) = 0;
  /// An admin's word: the operation is dead (receipt declared, proof none). Faults: operation_not_found,
  /// not_cancelling, already_terminal.
  virtual outcome<operation_id> declare_dead(const operation_id& id, const std::string& reason, const caller& by,
                                             moment now) = 0;
  /// The same for all that is live on a worker.
  virtual std::size_t declare_worker_dead(const std::string& worker, const std::string& reason, moment now) = 0;
  /// Stops all work on a worker with cause drain or worker removal.
  virtual std::size_t stop_worker(const std::string& worker, stop_cause cause, moment now) = 0;

  /// The same with the words of who ordered it, for `stop.reason` and `stop.by`.
  virtual std::size_t stop_worker_for(const std::string& worker, stop_cause cause, const stop_words& why, moment now) {
    (void)why;
    return stop_worker(worker, cause, now);
  }

  // ---- the fleet's reports --------------------------------------------------------------------------------------
  /// Gives a pending, not stale operation to a worker: journals the assignment and returns the START; nullopt if it
  /// must not start any more.
  virtual std::optional<wire::start> assign(const operation_id& id, const std::string& worker, moment now) = 0;
  virtual bool is_placeable(const operation_id& id) const = 0;
  virtual void note_waiting(const operation_id& id, std::string what, std::string detail, moment now) = 0;
  virtual void started(const std::string& worker, const wire::task_started& m, moment now) = 0;
  virtual void stopping(const std::string& worker, const wire::task_stopping& m, moment now) = 0;
  virtual void ended(const std::string& worker, const wire::task_ended& m, moment now) = 0;
  virtual void unproven(const std::string& worker, const wire::task_unproven& m, moment now) = 0;
  /// The worker has applied the stop with this seq (its frame is acknowledged), or has none below it.
  virtual void stop_applied(const std::string& worker, std::uint64_t stop_seq, moment now) = 0;
  /// A new session: `same_life` = same incarnation as the one the work was sent to. Sent work that is not in the
  /// inventory goes back to pending (same life) or ends as worker_lost / killed with the worker's level as proof
  /// (another life: an earlier one's tasks are cleared before a worker says hello). Inventory that should not live is
  /// stopped. Open stops that concern it are sent again.
  virtual void reconcile(const std::string& worker, const wire::hello& h, bool same_life, moment now) = 0;
  /// The worker is silent (or back): wakes cancels that wait for its acknowledgement.
  virtual void reachability_changed(const std::string& worker, moment now) = 0;
  /// By rule everything on this worker whose dead-by is not after `now` is dead: ends it with lease_expired. Returns
  /// the next dead-by left.
  virtual std::optional<boot_time> lease_expired(const std::string& worker,
                                                 const std::function<boot_time(std::optional<milliseconds>)>& dead_by,
                                                 moment now) = 0;
  virtual void output_counts(const operation_id& id, const quell::output_counts& counts) = 0;

  /// What the actors of this process ask; nullptr where there are none.
  virtual actor_books* actors() { return nullptr; }
  /// What the owners of external operations say and ask; nullptr where there are none.
  virtual external_books* externals() { return nullptr; }

  // ---- looking (never changes anything) -----------------------------------------------------------------------
  virtual std::optional<live_view> view(const operation_id& id, moment now) const = 0;
  /// nullopt: not open (settled: ask the store).
  virtual std::optional<cancel_view> view_cancel(const cancel_id& id, moment now) const = 0;
  virtual std::vector<cancel_view> open_cancels(moment now) const = 0;
  virtual std::vector<scope_view> scopes(const std::optional<scope_path>& prefix, bool only_live,
                                         const scope_path* after, std::size_t limit) const = 0;
  /// A page of the live tree. Looks at some 20,000 operations at most, so a page may be short and have a next one.
  virtual tree_page branches(const tree_question& q) const {
    (void)q;
    return {};
  }
  virtual bool visible(const operation_id& id, const caller& by) const = 0;
  virtual std::uint64_t last_seq() const = 0;
  virtual std::map<std::string, std::uint64_t> live_by_status() const = 0;
  /// (kind, status) of what is live, zeros included.
  virtual std::map<std::pair<std::string, std::string>, std::uint64_t> live_by_kind() const { return {}; }
  virtual std::size_t live_count() const = 0;
  virtual std::uint32_t slots_on(const std::string& worker) const = 0; ///< held by live work there
  virtual std::uint64_t live_on(const std::string& worker) const = 0;
  /// These rows are about to be dropped: forget what was still remembered of them.
  virtual void forget(const std::vector<operation_id>& ended, const std::vector<cancel_id>& settled) {
    (void)ended, (void)settled;
  }
  /// Next event id; the fleet's events are numbered by the same counter.
  virtual void add_event(storage::event_record e, moment now) = 0;
};

} // namespace quell::controller
