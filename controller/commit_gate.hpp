// The core: ledger and fleet behind one gate. Pure: takes events and returns durable batches, frames, events and
// answers, in the right order.
//
// The gate implements guarantee 2 (nothing uncommitted leaves): the effects of a transaction wait until the journal has
// written its batch and all earlier ones. Frames keep ledger order, so a cancel never overtakes a start. Only lease
// answers bypass the gate, since they carry no state.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controller/conversations.hpp"
#include "controller/fleet.hpp"
#include "controller/ledger.hpp"
#include "controller/refused_batches.hpp"

namespace quell::controller {

struct command;
struct first_turn;
class command_request;
namespace commands {
struct order_cancel;
struct take_message;
struct taken_message;
} // namespace commands

/// The core's effects on the world. Called on the core's own thread; no method may block.
class commit_gate_edges {
 public:
  virtual ~commit_gate_edges() = default;
  virtual std::uint64_t submit(std::vector<records::entry> batch) = 0;
  /// This ticket was refused, and everything submitted from now on takes that into account.
  virtual void refusal_known(std::uint64_t ticket) = 0;
  virtual void send(const outgoing_frame& frame) = 0;
  virtual void publish(const records::event_record& event) = 0;
  virtual void allow_keys(std::vector<std::string> public_keys) = 0;
  /// A START for this operation is about to leave for this worker, so its output can arrive.
  virtual void output_expected(const operation_id& id, const std::string& worker) = 0;
  /// A worker reports in its live session how much one of its tasks wrote. The caller must still check that the task is
  /// this worker's.
  virtual void output_counted(const operation_id& id, const std::string& worker, const output_counts& counts) = 0;
  /// The operation is terminal and that is durable: its output is complete once it has the number of bytes that the
  /// worker counted.
  virtual void output_closes(const operation_id& id) = 0;
  /// The stop of an operation of this process is durable, or is performed although it could not be made durable. Its
  /// row may follow.
  virtual void signal(const actor_signal& s) = 0;
  /// The same for an external operation: its owner must be notified.
  virtual void tell_owner(const external_signal& s) = 0;
  /// The operation is terminal and that is durable.
  virtual void ended(const ended_operation& e) = 0;
  virtual bool storage_low() const = 0;
  /// A command has come, and is about to be applied or refused.
  virtual void command_given(const command& what) = 0;
  /// A move of an operation was refused, because its table forbids it. `requested_by`: the command or event that tried
  /// it.
  virtual void move_forbidden(const forbidden_move& move, std::string_view requested_by) = 0;
  /// Called at each tick of the core, at least once a second.
  virtual void ticked(moment now) = 0;
  /// Memory and disk can differ: the process must end and recover from disk (DESIGN 3.11).
  virtual void fail_stop(const fault& why) = 0;
};

struct commit_gate_settings {
  ledger_settings ledger;
  fleet_settings fleet;
  std::function<std::string(const operation_id&)> token_for;
};

/// The gate, ledger and fleet of one controller. Used by one thread.
class commit_gate {
 public:
  commit_gate(commit_gate_settings s, records::recovered_state recovered, commit_gate_edges& edges, moment now);

  // ---- commands and questions --------------------------------------------------------------------------------------
  /// The entrance for commands (commands/command.hpp). The answer comes once everything it depends on is durable;
  /// execute.cpp decides for each command what it waits for.
  void execute(command_request&& request, moment now);
  /// A question reads, and returns its answer as a closure, which runs when everything that was read is on disk; none
  /// if it needs no answer.
  using question = std::function<std::function<void()>(const commit_gate&, moment)>;
  void ask(const question& what, moment now);

  // ---- events ------------------------------------------------------------------------------------------------------
  /// `arrived`: when the frame reached this process, if known.
  void frame(const std::string& route, const std::string& public_key, const wire::envelope& e, moment now,
             std::optional<boot_time> arrived = {});
  void unsupported_version(const std::string& route, const std::string& public_key, std::uint32_t version, moment now);
  void committed(const records::commit_notice& notice, moment now);
  /// Continues pending sweeps, too. Returns the next deadline.
  std::optional<boot_time> tick(moment now);
  /// Ends the transaction: submits everything produced since the last call. Frames and creates can share a transaction;
  /// a cancel ends its own at once.
  void end_transaction(moment now);
  /// Ends a burst of messages: places operations that wait for a slot, then ends the transaction. Returns the ledger's
  /// next deadline.
  std::optional<boot_time> end_burst(moment now);
  bool dirty() const { return dirty_ || more_to_place_ || sweeping() || (timers_due_ && may_run_timers()); }
  /// True if everything that waits for the end of the burst comes from orders that another one follows at once: both
  /// then share a transaction, so that a turn does not wait for two commits where one will do.
  bool expects_more() const {
    return expects_more_ && !more_to_place_ && !sweeping() && !(timers_due_ && may_run_timers());
  }
  /// True when nothing waits for the journal.
  bool quiet() const { return gate_.empty(); }
  bool sweeping() const { return sweeping_ && may_sweep(); }

  /// How an operation stands that is live, or whose end is perhaps not on disk yet. nullopt: its row is the whole
  /// truth, at the latest when everything that was submitted so far is on disk.
  std::optional<records::operation_hot> beyond_disk(const operation_id& id, moment now) const;

  ledger& operations() { return *ledger_; }
  fleet& workers() { return *fleet_; }
  const ledger& operations() const { return *ledger_; }
  const fleet& workers() const { return *fleet_; }

 private:
  struct gated {
    std::uint64_t ticket = 0; ///< leaves when everything up to this ticket is on disk
    std::vector<cancel_id> fence;
    std::vector<outgoing_frame> frames;
    std::vector<records::event_record> events;
    std::vector<std::pair<std::string, operation_id>> stored;
    std::vector<ended_operation> ended;
    std::vector<actor_signal> signals;
    std::vector<external_signal> owner_signals;
    std::vector<std::function<void(bool is_durable)>> answers;
    std::vector<records::entry> retry; ///< a copy of the batch: for a second try, if it holds only cancels and ends
    std::vector<std::string> keys;     ///< of the rows of a batch that holds creates
    std::vector<std::size_t> conversations; ///< that it changes: hashes of their scopes
    bool changes_conversations = false;     ///< of whatever scope
    bool creates = false;
    bool took_up = false;                  ///< holds rows that were refused before
    std::optional<std::uint64_t> reserves; ///< a limit of numbers
    std::optional<fault> failure;
  };

  /// False while many transactions are uncommitted or a cancel waits for its commit: its notice would wait behind the
  /// slices.
  bool may_sweep() const {
    if (gate_.size() >= max_gated_for_sweep) return false;
    for (const auto& g : gate_)
      if (!g.fence.empty()) return false;
    return true;
  }
  /// Timers come in slices, too: one with an empty gate, else one for each commit. So a cancel waits for one slice, and
  /// no more slices wait for the journal than it writes.
  bool may_run_timers() const { return gate_.empty() || committed_since_timers_; }
  std::optional<boot_time> run_timers(moment now);
  void cancel(const commands::order_cancel& what, std::function<void(outcome<cancel_view>)> done, moment now);
  void take(const commands::take_message& what, std::function<void(commands::taken_message)> done,
            const std::function<void(const commands::taken_message&)>& at_once, moment now);
  template <class Command, class Takers>
  void perform(const Command& what, Takers takers, moment now);
  template <class Command, class Answer, class Done>
  void await_disk(Answer answer, Done done, moment now);
  void absorb(moment now);
  void add_signals(ledger_effects& l);
  void count_output(const std::string& public_key, const session_id& session, const wire::task_ended& end);
  void submit_transaction();
  void end_transaction_of_stop(moment now);
  bool is_conversation_on_disk(const scope_path& scope) const;
  std::shared_ptr<const first_turn> first_turn_in_batch(const operation_id& turn, std::size_t from,
                                                        bool is_rest_on_disk) const;
  void note_stall(moment now);
  void release(gated& g, moment now);
  void defer_batch(gated& g);
  bool awaits_retry(const operation_id& id) const;
  bool awaits_retry(const records::cancel_record& cancel) const;
  bool awaits_retry_of_worker(const std::string& route) const;
  bool awaits_retry_of(const std::string& key) const;
  bool awaits_retry() const;
  bool is_acknowledged_later(const std::string& worker, const operation_id& id);
  void retry_refused(moment now);
  void take_up_refused();

  commit_gate_edges& edges_;
  std::unique_ptr<ledger> ledger_;
  std::unique_ptr<fleet> fleet_;
  turns::conversations conversations_;
  gated transaction_;
  std::vector<records::entry> batch_;
  std::deque<gated> gate_;
  std::vector<actor_signal> fenced_signals_; ///< leave at the end of `absorb`
  std::vector<external_signal> fenced_owner_signals_;
  refused_batches refused_batches_;        ///< cancels and ends that a full disk refused; retried at each tick
  std::optional<std::uint64_t> reserving_; ///< a limit of reserved numbers that can still be missing on disk
  std::uint64_t submitted_ = 0;
  std::uint64_t committed_ = 0;
  bool sweeping_ = false;
  bool expects_more_ = false;
  bool timers_due_ = false; ///< perhaps
  bool committed_since_timers_ = false;
  bool placing_ = false;
  bool more_to_place_ = false;
  bool dirty_ = false;
  moment now_{};
  std::string_view requested_by_ = "recovery"; ///< the command or event that is being applied
  std::optional<boot_time> last_run_;          ///< when the clock was last looked at here
  static constexpr std::size_t max_gated_for_sweep = 4;
};

} // namespace quell::controller
