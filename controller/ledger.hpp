// The ledger: the tree of live operations, scopes, cutoffs, tombstones and open cancels. Part of the pure core: takes
// orders and reports, returns effects.
//
// No clock, randomness, I/O or threads: `moment` and fresh ids are arguments. Every call can add effects. The owner
// takes them with `take()`, makes them durable (journal), and only then performs them (frames, events, answers) in the
// order in which they were made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/external_operations.hpp"
#include "controller/local_operations.hpp"
#include "controller/model_costs.hpp"
#include "controller/open_cancel_summary.hpp"
#include "controller/orders.hpp"
#include "controller/records/entries.hpp"
#include "controller/records/recovered_state.hpp"
#include "controller/slot_limits.hpp"
#include "controller/tree_page.hpp"

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
  std::size_t max_live_per_token = 0; ///< started with it, and by what was started with it
  std::size_t max_live_per_author = 0;
  std::size_t max_live_per_scope = 0;  ///< in a scope and everything below it; the root has `max_live_operations`
  std::size_t max_turns_per_token = 0; ///< as the next two: running or waiting
  std::size_t max_turns_per_author = 0;
  std::size_t max_turns_per_scope = 0;
  std::uint32_t max_slots_per_guild = 0; ///< held at once on all workers
  slots_by_guild max_slots_of_guilds{};  ///< instead of it, for these
  milliseconds worker_lease{10000};      ///< for dead_by of tasks without their own
  milliseconds longest_lease{60000};     ///< the longest lease that a worker ever gets: a handover's
  std::size_t leaves_per_step = 1'000;   ///< how many operations one `step` stops
  costs::cost_settings costs{};
};

/// The reason for a stop that is not a cancel, and who ordered it.
struct stop_words {
  std::string reason;
  records::person by;
};

/// A pending task's requirements on a worker; tasks that differ only in their lines share one queue.
struct requirement {
  std::optional<std::string> worker;
  std::map<std::string, std::string> on;
  std::uint32_t slots = 1;
  std::optional<containment> least;
  // The line in which it waits: guilds share the slots, and in a guild its authors.
  std::uint16_t guild_queue = 0;
  std::uint8_t author_queue = 0;
  friend auto operator<=>(const requirement&, const requirement&) = default;
};

/// Tasks that became pending one after the other and have the same requirement.
struct placeable_tasks {
  requirement need;
  std::vector<operation_id> ids;
};

/// A stop that must go to these workers, on each one's ordered channel.
struct stop_order {
  std::vector<std::string> workers;
  wire::stop message;
};

/// A move that a table of the ledger forbids: a bug of quell, or a report that contradicts what is known. It was
/// refused.
struct forbidden_move {
  operation_id operation;
  std::string_view from, to;
};

struct ledger_effects {
  std::vector<records::entry> journal;    ///< includes events (put_event)
  std::vector<placeable_tasks> placeable; ///< newly pending, in order: go to the end of their queues
  std::vector<stop_order> stops;
  std::vector<std::pair<std::string, std::uint32_t>> freed; ///< (worker, slots) given back, only after proof
  std::vector<std::pair<std::string, operation_id>>
      stored;                                 ///< (worker, result) pairs to acknowledge once this is durable
  std::vector<cancel_id> cancels_changed;     ///< status or counts changed: wakes the callers that wait
  std::vector<ended_operation> ended;         ///< became terminal
  std::vector<actor_signal> signals;          ///< for operations of this process, in order
  std::vector<external_signal> owner_signals; ///< for owners of external operations, in order
  std::vector<forbidden_move> forbidden;      ///< refused; each must be handed to `stop_forbidden`
  bool empty() const;
};

/// The fleet's knowledge about a worker, used to derive `unreachable`, dead_by and `why`.
struct reachability {
  bool reachable = true;
  std::optional<wall_time> since; ///< silent since
  std::function<std::optional<wall_time>(std::optional<milliseconds> task_lease)> dead_by;
};

class ledger {
 public:
  virtual ~ledger() = default;
  static std::unique_ptr<ledger> make(ledger_settings s, records::recovered_state recovered, moment now);

  /// Sets the function (synchronous, cheap) that returns a worker's reachability. Set before use; absent = reachable.
  virtual void ask_reachability(std::function<reachability(const std::string& worker)> ask) = 0;
  virtual ledger_effects take() = 0;
  /// Stops at most ~1,000 operations of pending stops (never-sent work ends here; running work gets its `cancelling`
  /// event and row). True while more remain: call again after the journal has written this batch.
  virtual bool step(moment now) = 0;
  /// The same for at most 16 operations, and none behind a scope or an operation with very many below it: it takes less
  /// than the disk does to write the cancel that stops them.
  virtual bool step_briefly(moment now) = 0;
  /// Handles timeouts, expiry of tombstones, drain deadlines and bounds. Returns the next deadline.
  virtual std::optional<boot_time> tick(moment now) = 0;

  // ---- orders -------------------------------------------------------------------------------------------------
  /// `fresh` is the id to use if the order names none.
  virtual outcome<created> create(const create_order& order, operation_id fresh, moment now) = 0;
  virtual outcome<cancel_view> cancel(const cancel_order& order, cancel_id fresh, moment now) = 0;
  /// The cancel's intent is durable (or could not be made durable): stamps fenced_ms, emits cancel_fenced, and can
  /// signal and settle at once.
  virtual void cancel_fenced(const cancel_id& id, bool is_durable, moment now) = 0;
  /// An admin declares the operation dead (receipt declared, proof none). Faults: operation_not_found, not_cancelling,
  /// already_terminal.
  virtual outcome<operation_id> declare_dead(const operation_id& id, const std::string& reason, const caller& by,
                                             moment now) = 0;
  /// The same for all live operations on a worker.
  virtual std::size_t declare_worker_dead(const std::string& worker, const std::string& reason, moment now) = 0;
  /// Stops all work on a worker with cause drain or worker removal.
  virtual std::size_t stop_worker(const std::string& worker, stop_cause cause, moment now) = 0;

  /// Stops the operation of a refused move, unless it is being stopped or has ended. It ends as failed with the error
  /// `forbidden_move`, once its end is proven.
  virtual void stop_forbidden(const forbidden_move& move, moment now) = 0;

  /// The same with a reason and an author, for `stop.reason` and `stop.by`.
  virtual std::size_t stop_worker_for(const std::string& worker, stop_cause cause, const stop_words& why,
                                      moment now) = 0;

  // ---- the fleet's reports --------------------------------------------------------------------------------------
  /// Gives a pending, not stale operation to a worker: journals the assignment and returns the START; nullopt if it
  /// must no longer start.
  virtual std::optional<wire::start> assign(const operation_id& id, const std::string& worker, moment now) = 0;
  virtual bool is_placeable(const operation_id& id) const = 0;
  /// False: the guild of this pending task holds as many slots as it may. Ask again once `guild_room` has grown.
  virtual bool may_take_slots(const operation_id& id) = 0;
  /// Grows when a guild for which that was false has room again.
  virtual std::uint64_t guild_room() const = 0;
  /// Replaces `max_slots_of_guilds`. Tasks that run go on; nothing new starts in a guild that holds too many.
  virtual void limit_slots(slots_by_guild of_guilds) = 0;
  /// Grows when pending tasks must wait in other lines than those in which they were offered: ask `need_of` for each.
  virtual std::uint64_t moves_of_lines() const = 0;
  /// nullptr: it can not be placed (any more).
  virtual const requirement* need_of(const operation_id& id) const = 0;
  virtual void note_waiting(const operation_id& id, std::string what, std::string detail, moment now) = 0;
  virtual void started(const std::string& worker, const wire::task_started& m, moment now) = 0;
  virtual void stopping(const std::string& worker, const wire::task_stopping& m, moment now) = 0;
  virtual void ended(const std::string& worker, const wire::task_ended& m, moment now) = 0;
  virtual void unproven(const std::string& worker, const wire::task_unproven& m, moment now) = 0;
  /// The worker has applied the stop with this seq (it acknowledged the frame), or has no work that it concerns.
  virtual void stop_applied(const std::string& worker, std::uint64_t stop_seq, moment now) = 0;
  /// A new session. `is_same_life`: the same incarnation as the one that got the work. Sent work that is not in the
  /// inventory goes back to pending (same life), or ends as worker_lost / killed with the worker's level as proof
  /// (another life: a worker clears the tasks of an earlier one before it says hello). Work in the inventory that must
  /// not live is stopped. Open stops that concern the worker are sent again.
  virtual void reconcile(const std::string& worker, const wire::hello& h, bool is_same_life, moment now) = 0;
  /// The worker is silent (or back): wakes the cancels that wait for its acknowledgement.
  virtual void reachability_changed(const std::string& worker, moment now) = 0;
  /// All work on this worker whose dead-by is not after `now` is dead by rule: ends it with lease_expired. Returns the
  /// next remaining dead-by.
  virtual std::optional<boot_time> lease_expired(const std::string& worker,
                                                 const std::function<boot_time(std::optional<milliseconds>)>& known_end,
                                                 moment now) = 0;
  virtual void output_counts(const operation_id& id, const quell::output_counts& counts) = 0;

  /// The interface for the actors of this process.
  virtual local_operations* actors() = 0;
  /// The interface for the owners of external operations.
  virtual external_operations* externals() = 0;
  /// The interface for model calls and their budgets.
  virtual model_costs* costs() = 0;

  // ---- looking (never changes anything) -----------------------------------------------------------------------
  /// The budget of the day that has nothing left for this author in this scope, in words; nullopt: none. For a model
  /// call without an operation, such as the words about a stop; one with an operation asks `costs`.
  virtual std::optional<std::string> why_day_is_used_up(const scope_path& scope, const std::string& author,
                                                        moment now) const = 0;
  virtual std::optional<live_view> view(const operation_id& id, moment now) const = 0;
  /// nullopt: not open (if it is settled, the store has it).
  virtual std::optional<cancel_view> view_cancel(const cancel_id& id, moment now) const = 0;
  virtual std::vector<cancel_view> open_cancels(moment now) const = 0;
  /// A plain count: a status that listed each of them would let any number of open cancels delay the next one.
  virtual open_cancel_summary summary_of_open_cancels() const = 0;
  virtual std::vector<scope_view> scopes(const std::optional<scope_path>& prefix, listed_scopes which,
                                         const scope_path* after, std::size_t limit) const = 0;
  /// A page of the live tree. Reads at most about 20,000 operations, so a short page can still have a next one.
  virtual tree_page branches(const tree_question& q) const = 0;
  virtual bool visible(const operation_id& id, const caller& by) const = 0;
  virtual std::uint64_t last_seq() const = 0;
  virtual std::map<std::string, std::uint64_t> live_by_status() const = 0;
  /// Counts of live operations by (kind, status), zeros included.
  virtual std::map<std::pair<std::string, std::string>, std::uint64_t> live_by_kind() const = 0;
  virtual std::size_t live_count() const = 0;
  virtual std::uint32_t slots_on(const std::string& worker) const = 0; ///< slots held by live work on this worker
  virtual std::uint64_t live_on(const std::string& worker) const = 0;
  /// These rows are about to be dropped: forgets everything still remembered about them.
  virtual void forget(const std::vector<operation_id>& ended, const std::vector<cancel_id>& settled) = 0;
  /// Adds an event under the next event id; the fleet's events use the same counter.
  virtual void add_event(records::event_record e, moment now) = 0;
};

} // namespace quell::controller
