// The true state of the simulated cluster, kept apart from the code under test, and the invariants that judge it: the
// rows on disk, the live processes, the messages that left the controller, the stops that each worker has applied.
//
// Each invariant has a short name; README.md describes each of them and the guarantee of the design that it stands for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controller/commit_gate.hpp"
#include "controller/slot_limits.hpp"
#include "storage/committer.hpp"
#include "tests/simulation/events.hpp"

namespace quell::simulation {

struct world;

class oracle {
 public:
  explicit oracle(world& w);

  // ---- the disk
  void committed(const std::vector<records::entry>& rows);
  void not_written(const std::vector<records::entry>& rows);
  /// The power failed: these rows may or may not be on disk, as one transaction or one by one.
  void uncertain(std::vector<storage::pending_batch> group, bool one_by_one);
  void recovered(const records::recovered_state& state);

  // ---- what leaves the controller
  void frame_leaves(const controller::outgoing_frame& f);
  void published(const records::event_record& e);
  void output_closed(const operation_id& id);
  void create_answered(const controller::create_order& order, const operation_id& id,
                       const controller::outcome<controller::created>& answer);
  void cancel_requested(const controller::cancel_order& order);
  void cancel_answered(const controller::cancel_order& order,
                       const controller::outcome<controller::cancel_view>& answer);
  void controller_started();
  void owner_notified(const controller::external_signal& s);
  void controller_turned(controller::commit_gate& core);
  void declared(const operation_id& id);
  void worker_declared(std::size_t worker);
  void worker_stopped_by_order(std::size_t worker) { workers_[worker].ordered_away = true; }
  /// The configuration has other numbers of slots, and quelld is about to be told, if it runs.
  /// Returns the number of this change.
  std::uint64_t limits_changed(controller::slots_by_guild of_guilds);
  /// Everything is on disk that was decided before this change.
  void limits_hold(std::uint64_t number);

  // ---- the workers and their processes
  void worker_started(std::size_t worker);
  void worker_leaves(std::size_t worker) { workers_[worker].leaves = true; }
  void worker_gave_up(std::size_t worker, const std::string& why);
  void machine_rebooted(std::size_t worker);
  void start_arrived(std::size_t worker, const wire::start& s);
  void stop_applied(std::size_t worker, const wire::stop& s);
  void let_go(std::size_t worker, const operation_id& id);
  void executed(std::size_t worker, const operation_id& id, std::uint32_t slots);
  void process_born(std::size_t worker, const operation_id& id);
  void process_gone(std::size_t worker, const operation_id& id);
  /// Its guardian is killed while the task lives.
  void cut_off(std::size_t worker, const operation_id& id);
  void signalled(std::size_t worker, const operation_id& id);
  void leader_exited(const operation_id& id, const exit_state& how);

  // ---- queries
  /// By whole segments; not with the product's own comparison.
  static bool below(const scope_path& scope, const scope_path& above);
  /// The row on disk; nullptr if there is none.
  const records::operation_record* record_of(const operation_id& id) const;
  const records::cancel_record* cancel_of(const cancel_id& id) const;
  /// When the first cancel that covers it was on disk.
  std::optional<instant> closed_since(const operation_id& id) const;
  void each_live_in(const scope_path& scope, const std::function<void(const records::operation_record&)>& what) const;
  /// True if an operation of this person lived there, or below, at or after this instant.
  bool had_live_of(const std::string& owner, const scope_path& scope, instant since) const;
  /// An operation that this cancel covers and that has processes that could run.
  std::optional<operation_id> living_below(const cancel_id& id) const;
  bool writes_failed() const { return writes_failed_; }
  const controller::slots_by_guild& configured_limits() const { return limits_.back(); }
  bool stands(const operation_id& id) const { return by_id_.contains(id); }
  bool is_over(const operation_id& id) const;
  bool was_answered(const operation_id& id) const { return answered_.contains(id); }
  std::uint64_t highest_seq_reported() const { return highest_seq_reported_; }
  bool cancels_settled() const;
  std::string unsettled() const;
  bool all_over() const;
  std::uint64_t operations() const { return rows_.size(); }
  std::uint64_t runs() const { return runs_; }
  /// The checks after everything has come to rest.
  void check_the_end();

 private:
  struct row {
    records::operation_record record; ///< as it is on disk
    int parent = -1;
    bool was_declared = false;
    std::optional<wire::start> start; ///< as its worker got it
    std::uint64_t executions = 0;
    std::uint32_t living = 0, slots = 0;
    std::size_t worker = 0;
    bool is_cut_off = false;         ///< its guardian was killed, and nobody can know its end
    std::optional<exit_state> exit;  ///< of a leader that ended by itself
    std::optional<instant> ended_by; ///< a stop was applied to it: its processes are gone by then
    int terminal_events = 0, started_events = 0;
    bool stop_reported = false;              ///< that it is being stopped, by an event or by the row that a start found
    std::optional<wall_time> owner_kills_at; ///< the nearest that its owner was told in this life of the controller
    instant owner_notified_at = 0;           ///< when that was
    instant over_at = 0;                     ///< when its end was on disk
  };
  struct cancel_row {
    records::cancel_record record;
    bool fenced_reported = false, signalled_reported = false;
    std::set<std::string> reached;                  ///< workers that were connected when it was told to be signalled
    std::optional<milliseconds> first_grace = {};   ///< as it was accepted
    std::optional<milliseconds> nearest_grace = {}; ///< of those that joined it and were answered as durable
    std::map<event_type, int> events = {};          ///< on disk, by type
    instant accepted_at = 0;                        ///< when it was on disk
  };
  struct worker_truth {
    std::vector<wire::stop> applied; ///< in this life
    bool leaves = false, ordered_away = false, was_declared = false;
    bool is_there = false;  ///< as the events tell it
    std::uint32_t used = 0; ///< slots of what has living processes
  };

  row* find(const operation_id& id);
  const row* find(const operation_id& id) const;
  std::size_t index_of(const row& r) const { return static_cast<std::size_t>(&r - rows_.data()); }
  bool covers(const cancel_row& c, const row& x) const;
  bool stop_names(const wire::stop& s, const wire::start& start) const;
  bool stop_covers(const wire::stop& s, const row& x) const;
  bool is_terminal_row(const row& r) const { return is_terminal(r.record.hot.now); }
  std::string name(const row& r) const;

  void put(const records::operation_record& r);
  void keep(row fresh);
  void update(const operation_id& id, const records::operation_hot& hot);
  void check_move(const row& r, const records::operation_hot& to);
  void check_stop(const row& r, const records::stop_state& stop);
  void check_end(const row& r, const records::operation_hot& to);
  void check_chain(const row& r) const;
  void put(const records::cancel_record& c);
  void check_settled(const cancel_row& c);
  void put(const records::event_record& e);
  void check_whole(const cancel_row& c);
  bool matches(const records::recovered_state& state, std::string& difference) const;
  /// Whether the first event of the batch is; false: it has none, which tells nothing.
  bool is_on_disk(const std::vector<records::entry>& batch) const;
  void check_result(const row& r);
  void check_gone(const operation_id& id);
  void strays_must_go(const std::string& worker);

  void start_leaves(const controller::outgoing_frame& f, const wire::start& s);
  void stop_leaves(const wire::stop& s);
  void check_reports(std::size_t worker);
  void check_owners(const cancel_row& c, milliseconds grace);
  bool is_reported(const std::vector<wire::stop>& stops, const cancel_row& c, const row& x) const;
  void lease_leaves(const std::string& worker, milliseconds length, const char* what);

  // truth_guilds.cpp
  struct guild_use {
    std::uint64_t slots = 0, tasks = 0; ///< of tasks that hold any
  };
  std::string guild_of(const row& r) const;
  std::uint32_t limit_of(const std::string& guild, const controller::slots_by_guild& places) const;
  std::uint32_t most_of(const std::string& guild) const;
  void check_use(const std::map<std::string, guild_use>& use, const char* where);
  std::map<std::string, guild_use> use_on_disk() const;
  void check_guilds();
  void check_guild_processes();
  void check_held_back(controller::commit_gate& core);

  world& world_;
  std::vector<row> rows_; ///< by seq
  std::unordered_map<operation_id, std::size_t> by_id_;
  std::vector<cancel_row> cancels_;
  std::unordered_map<cancel_id, std::size_t> cancel_by_id_;
  std::map<scope_path, records::cutoff_record> cutoffs_;
  std::map<operation_id, records::tombstone_record> tombstones_;
  std::map<std::string, records::worker_record> worker_rows_;
  std::unordered_map<std::uint64_t, std::string> seq_of_; ///< who has this number
  std::uint64_t seq_limit_ = 1, last_event_ = 0, highest_seq_reported_ = 0, runs_ = 0, last_seq_ = 0,
                controller_turns_ = 0;
  std::vector<storage::pending_batch> uncertain_;
  bool arrives_one_by_one_ = false;
  std::unordered_set<cancel_id> unwritten_cancels_;
  std::set<std::pair<session_id, std::uint64_t>> starts_sent_;
  std::map<session_id, std::vector<wire::stop>> stops_left_; ///< of this life of the controller
  std::map<std::string, session_id> welcomed_;               ///< the session whose welcome left last, by worker
  std::unordered_set<operation_id> answered_, declared_;
  std::vector<worker_truth> workers_;
  bool writes_failed_ = false;
  std::uint64_t limits_number_ = 0;
  std::deque<controller::slots_by_guild> limits_; ///< by which tasks on disk can have been placed; the newest last
  std::map<std::string, std::uint64_t> too_many_; ///< what guilds held beyond their limit when that came
  std::map<operation_id, instant> held_back_;     ///< since when
};

} // namespace quell::simulation
