// The ledger's state and the names of its steps. Each step is in the file that its comment names.
//
// The state is held by types of its own, each with its invariants: the operations (`operation_table`), the open cancels
// (`cancel_runs`), the leases of external operations (`external_leases`), the tombstones (`tombstones`), the scopes
// (`scope_tree`). The steps here decide, keep these in agreement, and return the effects.
//
// It rests on three ideas:
//  - A stop is *derived*: accepting a cancel writes one record; whether an operation is stopped follows from its chain
//    (itself and its ancestors up to a detached edge) whenever it is read (stop_of.cpp). Sweeps later *materialise* the
//    stop leaf by leaf (sweep.cpp).
//  - An operation ends in two steps: its own work ends (`end_own_work`), and it becomes terminal when nothing below it
//    lives (`finish`). So a covered operation keeps its chain until it has been counted, and a report never loses a
//    leaf (ends.cpp).
//  - Every change and the counts that follow from it leave in the same `take()`, so any prefix of batches is a
//    consistent past (recovery.cpp).
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "controller/costs/day_totals.hpp"
#include "controller/costs/tree_costs.hpp"
#include "controller/ledger.hpp"
#include "controller/ledger/cancel_runs.hpp"
#include "controller/ledger/external_leases.hpp"
#include "controller/ledger/interner.hpp"
#include "controller/ledger/memory.hpp"
#include "controller/ledger/operation_table.hpp"
#include "controller/ledger/scope_tree.hpp"
#include "controller/ledger/self_status.hpp"
#include "controller/ledger/sweep.hpp"
#include "controller/ledger/timers.hpp"
#include "controller/ledger/tombstones.hpp"
#include "controller/resumed_agents.hpp"

namespace quell::controller::live {

class live_ledger final : public ledger,
                          public local_operations,
                          public open_questions,
                          public resumed_agents,
                          public external_operations,
                          public model_costs {
 public:
  live_ledger(ledger_settings s, records::recovered_state recovered, moment now);

  void ask_reachability(std::function<reachability(const std::string&)> ask) override { ask_ = std::move(ask); }
  ledger_effects take() override;
  bool step(moment now) override { return step(now, settings_.leaves_per_step, step_length::whole); }
  bool step_briefly(moment now) override;
  std::optional<boot_time> tick(moment now) override;
  outcome<created> create(const create_order& order, operation_id fresh, moment now) override;
  outcome<cancel_view> cancel(const cancel_order& order, cancel_id fresh, moment now) override;
  void cancel_fenced(const cancel_id& id, bool is_durable, moment now) override;
  outcome<operation_id> declare_dead(const operation_id& id, const std::string& reason, const caller& by,
                                     moment now) override;
  std::size_t declare_worker_dead(const std::string& worker, const std::string& reason, moment now) override;
  void kill_declared(index x);
  std::size_t stop_worker(const std::string& worker, stop_cause cause, moment now) override;
  std::size_t stop_worker_for(const std::string& worker, stop_cause cause, const stop_words& why, moment now) override;
  std::optional<wire::start> assign(const operation_id& id, const std::string& worker, moment now) override;
  bool is_placeable(const operation_id& id) const override;
  void note_waiting(const operation_id& id, std::string what, std::string detail, moment now) override;
  void started(const std::string& worker, const wire::task_started& m, moment now) override;
  void stopping(const std::string& worker, const wire::task_stopping& m, moment now) override;
  void ended(const std::string& worker, const wire::task_ended& m, moment now) override;
  void unproven(const std::string& worker, const wire::task_unproven& m, moment now) override;
  void stop_applied(const std::string& worker, std::uint64_t stop_seq, moment now) override;
  void reconcile(const std::string& worker, const wire::hello& h, bool is_same_life, moment now) override;
  void reachability_changed(const std::string& worker, moment now) override;
  std::optional<boot_time> lease_expired(const std::string& worker,
                                         const std::function<boot_time(std::optional<milliseconds>)>& dead_by,
                                         moment now) override;
  void output_counts(const operation_id& id, const quell::output_counts& counts) override;
  std::optional<live_view> view(const operation_id& id, moment now) const override;
  std::optional<cancel_view> view_cancel(const cancel_id& id, moment now) const override;
  std::vector<cancel_view> open_cancels(moment now) const override;
  open_cancel_summary summary_of_open_cancels() const override;
  std::vector<scope_view> scopes(const std::optional<scope_path>& prefix, listed_scopes which, const scope_path* after,
                                 std::size_t limit) const override;
  tree_page branches(const tree_question& q) const override;
  bool visible(const operation_id& id, const caller& by) const override;
  std::uint64_t last_seq() const override { return next_seq_ - 1; }
  std::map<std::string, std::uint64_t> live_by_status() const override;
  std::map<std::pair<std::string, std::string>, std::uint64_t> live_by_kind() const override;
  std::size_t live_count() const override { return operations_.size(); }
  bool may_take_slots(const operation_id& id) override;
  std::uint64_t guild_room() const override { return operations_.guild_room(); }
  void limit_slots(slots_by_guild of_guilds) override { operations_.limit_slots(std::move(of_guilds)); }
  std::uint64_t moves_of_lines() const override { return operations_.moves_of_lines(); }
  const requirement* need_of(const operation_id& id) const override;
  std::uint32_t slots_on(const std::string& worker) const override;
  std::uint64_t live_on(const std::string& worker) const override;
  void forget(const std::vector<operation_id>& ended, const std::vector<cancel_id>& settled) override;
  void add_event(records::event_record e, moment now) override;
  void stop_forbidden(const forbidden_move& move, moment now) override;
  std::vector<std::string> broken_invariants() const; ///< invariants.cpp
  // actors.cpp
  local_operations* actors() override { return this; }
  outcome<operation_id> start_local(const operation_id& id, moment now) override;
  bool pause(const operation_id& id, moment now) override;
  bool ask(const operation_id& id, paused_question what, moment now) override;
  bool take_back(const operation_id& id, const operation_id& question, moment now) override;
  outcome<operation_id> answer(const operation_id& id, const human_answer& what, moment now) override;
  outcome<operation_id> decide(const operation_id& id, const decision& d, const records::call_outcome& denied_result,
                               moment now) override;
  bool finish_local(const operation_id& id, const own_outcome& end, moment now) override;
  bool stop_local(const operation_id& id, stop_cause cause, std::optional<records::call_outcome> call,
                  moment now) override;
  std::uint64_t add_message(records::message_record message, moment now) override;
  void add_closed_call(records::call_record call) override;
  void note_outcome(const operation_id& id, std::string json) override;
  std::vector<open_turn> open_turns() const override;
  void acknowledged(const message_id& message) override;
  // resumes.cpp
  std::vector<operation_id> interrupted() override;
  bool resume(const operation_id& id) override;
  void interrupt_below(const operation_id& id, moment now) override;
  void end_calls_of_dead(const operation_id& id, moment now) override;
  tree_cost used_by(const operation_id& turn) const override;
  // scope_outline.cpp
  std::uint64_t live_in(const scope_path& scope) const override;
  bool is_below_turn_in(const operation_id& id, const scope_path& scope) const override;
  std::uint64_t detached_tasks(const scope_path& scope) const override;
  bool has_live_of(const std::string& owner, const scope_path& scope) const override;
  std::vector<outlined> outline(const scope_path& scope, std::size_t limit) const override;
  std::vector<outlined> dying_tasks(const scope_path& scope, const operation_id& root,
                                    std::size_t limit) const override;
  // externals.cpp
  external_operations* externals() override { return this; }
  outcome<operation_id> start_external(const operation_id& id, const caller& by, moment now) override;
  outcome<operation_id> end_external(const owner_report& report, const caller& by, moment now) override;
  void note_late_report(const owner_report& report, moment now) override;
  renewal_answer heartbeat(const renewal_order& order, moment now) override;
  outcome<std::optional<external_signal>> signal_of(const operation_id& id, const caller& by, moment now) override;
  std::vector<external_signal> signals_of(const std::string& session, const caller& by, moment now) override;
  void was_stalled(moment now) override { leases_.was_stalled(now.boot); }
  // model_calls.cpp
  model_costs* costs() override { return this; }
  outcome<created> open_model_call(const create_order& order, const operation_id& id, const operation_id& turn,
                                   const costs::tree_limits& limits, moment now) override;
  closed_model_call close_model_call(const model_call_end& end, moment now) override;
  tree_cost add_cost(const early_use& what, moment now) override;
  std::optional<std::string> why_day_is_used_up(const scope_path& scope, const std::string& author,
                                                moment now) const override {
    return day_totals_.why_exhausted(scope, author, now.wall);
  }

 private:
  using stop_messages = std::map<index, wire::stop>; ///< by worker

  // The table's questions that almost every step asks.
  index find(const operation_id& id) const { return operations_.find(id); }
  bool is_same(index x, std::uint64_t seq) const { return operations_.is_same(x, seq); }
  operation_details& details(index x) { return operations_.details(x); }
  index operation_parent(index x) const { return operations_.parent_of(x); }

  // table.cpp
  index add_operation(const records::operation_record& r);
  void remove_operation(index x);
  void release(index x);
  index worker_index(const std::string& name);
  index known_worker(const std::string& name) const;
  outlined outline_of(index x) const;
  void offer(index x); ///< to the placement, if it can be placed

  // moves.cpp: false = the table forbids it; nothing has changed then
  bool set_status(index x, status to);
  bool enter_phase(index x, phase to);
  void forbid(index x, std::string_view from, std::string_view to);
  bool has_forbidden_move(index x) const;
  void end_against_table(index x, moment now);

  // record.cpp: rows, events and seqs
  std::uint64_t take_seq();
  void reserve_seqs();
  records::operation_hot hot_of(index x) const;
  void write_row(index x);
  void write_event(event_type type, index x, moment now);
  void write_event(event_type type, const cancel_run& run, moment now);

  // stop_of.cpp: the stop of an operation
  std::optional<found_stop> stop_of(index x) const;
  bool parent_end_stops(index parent, index child) const;
  bool sees(const caller& by, index x) const;

  // branches.cpp
  template <class Next, class IsThere, class IsBehind>
  index behind(index head, const tree_place& place, Next next, IsThere is_there, IsBehind is_behind) const;
  tree_branch branch_of(index x) const;
  void list_children(index parent, const tree_question& q, tree_page& page) const;
  void list_roots(index scope, const tree_question& q, tree_page& page) const;
  void list_scope(index scope, const tree_question& q, tree_page& page) const;
  bool list_inner_scopes(index scope, const std::string& after, std::size_t limit, tree_page& page) const;

  // create.cpp
  std::optional<refusal> refuse_id(const create_order& order, const std::optional<scope_path>& scope, moment now) const;
  std::optional<refusal> refuse_parent(const operation_id& id) const;
  std::optional<refusal> refuse_scope(const create_order& order, const scope_path& scope) const;
  std::optional<refusal> refuse_size(index parent) const;
  std::optional<refusal> refuse_share(const create_order& order, const scope_path& scope, std::string_view via) const;
  outcome<std::vector<index>> superseded_by(const create_order& order, const scope_path& scope, index parent) const;
  refusal stale(const std::optional<found_stop>& stop, const std::string& otherwise) const;
  refusal stale_by(const cancel_id& id, const records::cancel_target& target, std::uint64_t seq) const;
  void begin_at_once(index x, moment now);

  // cancel.cpp
  outcome<records::cancel_target> resolve_target(const cancel_order& order) const;
  outcome<cancel_view> cancel_absent(const cancel_order& order, records::cancel_record r, const operation_id& id,
                                     moment now);
  void tighten(cancel_run& run, milliseconds grace, moment now);
  cancel_view dry_view(cancel_run run) const;
  cancel_run& accept(cancel_run run, std::uint64_t covered, moment now);
  void raise_cutoff(const cancel_run& run, moment now);
  void keep_cutoff(index scope, std::uint64_t cutoff, const cancel_id& cancel, const std::string& by_token, moment now);
  bool has_used_up_cutoffs(const caller& by) const;
  void queue_sweep(const cancel_run& run);
  void send_stops(const cancel_run& run, const std::vector<index>& workers, std::optional<milliseconds> grace);
  void put_tombstone(const records::tombstone_record& t, moment now);

  // progress.cpp: fenced, signalled, settled
  void silence_exchanges(const cancel_run& run, moment now);
  void check_signalled(cancel_run& run, moment now);
  void check_settled(std::uint64_t run_seq, moment now);
  double since_received(const cancel_run& run, moment now) const;
  bool is_reachable(index worker) const;
  void tally(index x, receipt how, proof evidence, moment now);
  void worker_is_done(index worker, moment now);

  // ends.cpp
  void set_stop(index x, const found_stop& stop, announce say, moment now);
  void announce_cancelling(index x, moment now) { set_stop(x, {}, announce::yes, now); }
  void apply_stop(index x, const found_stop& stop, moment now);
  void begin(index x, wall_time at, moment now);
  void end_own_work(index x, self_status e, moment now);
  void stop_children(index x, moment now);
  void finish(index x, moment now);
  void finish_one(index x, moment now);
  void lose(index x, proof evidence, receipt how, std::string message, moment now);
  self_status stopped_end(index x, receipt how, proof evidence) const;
  void remember(index x, moment now);

  // actors.cpp
  void close_call(index x, records::call_outcome outcome);
  void signal(index x, milliseconds grace);
  records::event_record event_about(event_type type, std::string data, index x) const;
  void write_event_data(event_type type, std::string data, index x, moment now);
  void asks_no_more(index x, moment now);
  void tell_turn_over(index x, const self_status& e, moment now);
  std::string still_running(index x) const;
  records::call_outcome stopped_call(index x, stop_cause cause) const;
  bool asks(index x) const { return operations_[x].details && operations_[x].details->question; }
  /// True if the call asks something that a restart leaves unanswered for ever.
  bool asks_for_server(index x) const {
    return asks(x) && operations_[x].details->question->who == question_source::server;
  }
  void go_on(index x);
  void tell_dropped(index x, moment now);

  // resumes.cpp
  void interrupt_actors(moment now);
  void interrupt(index x, moment now);
  /// Whether somebody outside of quell can go on with it although its actor is gone.
  bool works_elsewhere(index x) const;
  bool is_unasked(index x) const;
  bool goes_on(index turn);
  bool only_waits(index x) const;
  bool spawned_and_waits(index call) const;

  // externals.cpp
  void begin_lease(index x, boot_time until);
  void look_at_lease(index x, moment now);
  std::optional<index> whole_session(const std::string& session, const caller& by) const;
  external_leases::guarded in_session(const std::string& session, const caller& by) const;
  outcome<index> find_external(const operation_id& id, const caller& by) const;
  bool settle_stop(index x, moment now);
  milliseconds grace_below(index x) const;
  void tell_owner(index x, milliseconds grace, moment now);
  void hurry_owners(const cancel_run& run, std::optional<milliseconds> grace, moment now);
  void each_notified_below(const cancel_run& run, const std::function<void(index)>& what) const;
  void give_late_grace(const cancel_run& run, moment now);
  void recover_external(index x, moment now);
  void recover_grace(index x, moment now);
  external_signal signal_to_owner(index x) const;
  void add_signals(renewal_answer& answer, const std::map<std::uint64_t, index>& stopped) const;

  // sweep.cpp
  enum class step_length : std::uint8_t { whole, brief };
  bool step(moment now, std::size_t budget, step_length length);
  bool has_many_below(const sweep::item& top) const;
  std::size_t run_sweep(sweep& s, std::size_t budget, step_length length, moment now);
  void visit(index x, moment now);
  void push_children(sweep& s, index x) const;
  void queue_below(index x);

  // model_calls.cpp, stops.cpp: stops that are not cancels
  std::optional<refusal> refuse_budget(const create_order& order, const scope_path& scope, moment now) const;
  bool stop_turn(const operation_id& turn, const std::string& why, moment now);
  void charge(const used_by_call& used, moment now);
  tree_cost write_tree(const operation_id& turn, const costs::tree_costs::account& of,
                       const std::optional<records::event_record>& reported, moment now);
  void close_tree(index x, records::operation_hot& hot);
  void recover_costs(const records::recovered_state& recovered, const std::vector<records::operation_record>& cut_calls,
                     moment now);
  void charge_cut_call(const records::operation_record& call, moment now);
  void stop_operations(const std::vector<index>& targets, stop_cause cause, moment now,
                       const stop_words* words = nullptr);
  void add_stop_below(stop_messages& messages, index x) const;
  void send(stop_messages messages, std::uint64_t seq, stop_cause cause, std::optional<cancel_id> cancel,
            std::optional<milliseconds> grace);

  // reconcile.cpp
  void take_inventory(index x, const wire::inventory_item& item, const wire::hello& h, moment now);
  void missing(index x, const wire::hello& h, bool is_same_life, moment now);
  void resend_stops(index worker, moment now);
  void put_back(index x, moment now);
  void note_late(const operation_id& id, const wire::task_ended& m);

  // views.cpp
  cancel_view view_of(const cancel_run& run, moment now) const;
  unproven_operation unproven_of(const cancel_run& run, index x, moment now) const;
  std::vector<index> oldest_left(const cancel_run& run, std::size_t limit) const;
  /// The most operations or scopes that one view reads: about a millisecond.
  static constexpr std::size_t most_looks = 20'000;
  /// Operations that a sweep has not reached yet are counted as far as `looks` allows; the others once it reaches them.
  std::uint64_t stopping_in(index scope, std::size_t& looks) const;
  scope_view view_of_scope(index scope, std::size_t& looks) const;
  template <class Scopes>
  void list_scopes(const Scopes& all, const std::optional<scope_path>& prefix, const scope_path* after,
                   std::size_t limit, std::vector<scope_view>& found) const;

  // recovery.cpp
  void recover(records::recovered_state& recovered, moment now);
  void recover_operations(records::recovered_state& recovered, std::vector<index>& live,
                          std::vector<records::operation_record>& cut_calls, moment now);
  index recover_operation(const records::operation_record& r, moment now);
  void recover_cancel(const records::cancel_record& r, moment now);
  void recover_supersede();

  // restored.cpp: gaps of a restored backup
  void doubt(index x, moment now);
  boot_time doubted_until(index x) const;
  /// `known`: by the lease that the backup names.
  boot_time dead_by(index x, boot_time known) const;
  std::optional<wall_time> shown_dead_by(index x, const reachability& r, moment now) const;
  void adopt(const operation_id& id, index worker);
  void not_there(index x);
  void end_doubt(index x, moment now);

  // clock.cpp
  void expire(moment now, std::size_t most);
  void set_deadline(index x, boot_time at);

  ledger_settings settings_;
  ledger_effects effects_;
  /// While an operation is created: the place of its row in `effects_.journal`.
  std::optional<std::size_t> fresh_row_;
  std::function<reachability(const std::string&)> ask_;

  std::uint64_t next_seq_ = 1, seq_limit_ = 1, next_event_ = 1;
  scope_tree scopes_;
  operation_table operations_{
      scopes_, settings_.min_containment, {settings_.max_slots_per_guild, settings_.max_slots_of_guilds}};
  cancel_runs runs_{operations_, scopes_};
  external_leases leases_{operations_};
  interner<std::string> workers_; ///< never released: as many as were ever enrolled
  boot_time began_{};
  std::uint64_t restored_below_ = 0; ///< see records::recovered_state
  std::deque<sweep> sweeps_;
  costs::day_totals day_totals_{settings_.costs.budgets};
  costs::tree_costs tree_costs_;
  std::vector<operation_id> interrupted_; ///< by the restart that began this life
  ended_memory recent_;
  /// Rows of operations that ended without their worker's report, for late evidence.
  bounded_memory<operation_id, records::operation_hot, 10'000> silent_ends_;
  tombstones tombstones_{settings_.max_tombstones_per_token};
  soonest_first<timer> timers_;
  soonest_first<expiry> expiries_;
  interner<std::string> cutoff_tokens_; ///< held by each cutoff that takes a share
};

} // namespace quell::controller::live
