// One live operation in memory: a small node for each, and details only for operations that run, are stopped, or use a
// rare option.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/ledger/owned.hpp"
#include "controller/ledger/phase.hpp"
#include "controller/ledger/slab.hpp"
#include "controller/ledger/spec_blob.hpp"
#include "controller/open_questions.hpp"
#include "controller/records/records.hpp"
#include "protocol/messages.hpp"

namespace quell::controller::live {

struct cancel_run;
class operation_table;
class external_leases;

/// A field of a node that only the table changes, since lists and counts depend on it.
template <class T>
using of_table = owned<operation_table, T>;
/// The same for the leases of external operations.
template <class T>
using of_leases = owned<external_leases, T>;

/// The number of held operations below something, per worker.
using worker_counts = std::vector<std::pair<index, std::uint32_t>>;

/// Fields that few operations use.
struct operation_details {
  std::optional<records::stop_state> stop; ///< materialised: the first stop that covers it
  std::optional<receipt> end_how;          ///< of its own end
  std::optional<proof> end_evidence;
  std::uint64_t children_stop_seq = 0; ///< seq of the stop that its own end causes for its children; 0 = none
  std::optional<exit_state> exit;
  std::optional<records::operation_error> error;
  std::optional<wall_time> deadline_at;
  std::optional<boot_time> deadline;
  std::optional<containment> level;
  std::int32_t pid = 0;
  output_counts output;
  bool is_unasked = false;      ///< a call that was stopped while a human was asked whether it may run: nobody has it
  bool works_elsewhere = false; ///< a call at a server or a remote agent whose actor is gone: it may go on there
  std::string result;
  milliseconds timeout{0};
  std::optional<milliseconds> lease;
  std::string supersede;            ///< key; "" = none
  std::vector<cancel_run*> targets; ///< open cancels of exactly this operation
  worker_counts workers_below;      ///< through non-detached edges, excluding itself
  std::unique_ptr<wire::task_unproven> unproven;
  std::unique_ptr<wire::task_ended> left;    ///< of a task whose leader left processes behind: its end
  std::unique_ptr<paused_question> question; ///< of a call that has begun and is paused for the answer
};

/// Additional state of an external operation.
struct external_state {
  std::string name; ///< for its owner's signal; so are the labels
  std::map<std::string, std::string> labels;
  milliseconds lease{0}; ///< 0 = none
  of_leases<boot_time> lease_until{boot_time{}};
  of_leases<boot_time> kill_at{boot_time{}};      ///< set once its owner was told to stop
  of_leases<milliseconds> grace{milliseconds{0}}; ///< set at the same time
  of_leases<index> session{none}, session_next{none}, session_previous{none};
  of_leases<bool> is_counted{false}; ///< among the leases of its session
  start_when start = start_when::now;
};

/// Its identity (id, seq, as_of, fingerprint, scope, owner, token, need, kind, depth, detached) is set when it enters
/// the table and never changes.
struct operation_node {
  operation_id id;
  std::uint64_t seq = 0; ///< 0 = the slot is free; never reused, so (index, seq) names one operation for ever
  std::uint64_t as_of = 0;
  std::uint64_t fingerprint = 0; ///< hash of the create's body
  wall_time since{};             ///< started: when it began; else since when it waits for its current reason
  milliseconds grace{2000};
  spec_blob spec;
  std::unique_ptr<operation_details> details;
  std::unique_ptr<external_state> external; ///< kind external

  of_table<index> parent{none}, first_child{none}, next_sibling{none}, previous_sibling{none};
  index scope = none;
  of_table<index> scope_next{none}, scope_previous{none};
  of_table<index> worker{none}, worker_next{none}, worker_previous{none};
  index owner = none;
  of_table<index> owner_next{none}, owner_previous{none};
  index token = none;                    ///< whose share it takes
  index need = none;                     ///< requirement
  of_table<index> waiting{none};         ///< interned reason
  of_table<std::uint32_t> live_below{1}; ///< itself and the live ones below it through non-detached edges
  of_table<std::uint32_t> children{0};   ///< live direct children, including detached ones

  quell::kind kind = quell::kind::task;
  of_table<status> now{status::pending}; ///< moved by `live_ledger::set_status`
  status self_status = status::pending;  ///< valid once its own work is over
  quell::on_parent_end on_parent_end = quell::on_parent_end::cancel;
  of_table<live::phase> phase{live::phase::ready}; ///< of its own work; moved by `live_ledger::enter_phase`
  std::uint8_t depth = 1;
  std::uint8_t resumes = 0; ///< of a turn: how often it went on after a restart
  std::uint8_t waits = 0;   ///< of a turn: starts of quelld since it last had an agent, in which it only waited
  bool detached : 1 = false;
  bool was_approved : 1 = false; ///< a human was asked and is not asked again
  bool is_of_server : 1 = false; ///< a call of a tool of a server or a remote agent

  /// details->stop is set; the operation is in its scope's list of stopping ones.
  bool is_stopped() const { return is_stopped_; }
  bool has_begun() const { return live::has_begun(phase); }
  /// Its own work is over; the operation itself ends when nothing below it lives.
  bool is_over() const { return live::is_over(phase); }
  /// Assigned to `worker` and not proven gone there.
  bool is_held() const { return worker != none && !is_over(); }

 private:
  friend operation_table;
  bool is_stopped_ : 1 = false;
};

} // namespace quell::controller::live
