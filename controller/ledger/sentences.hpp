// The sentences and small derivations of the ledger that need no state: instants as text, who cancelled what, ends from
// exits.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "controller/orders.hpp"
#include "controller/question_books.hpp"
#include "storage/history.hpp"

namespace quell::controller::heart {

/// RFC 3339 UTC with milliseconds.
std::string instant_text(wall_time at);
/// "scope team/build", "operation 01…", "everything of owner alice", "everything".
std::string target_text(const storage::cancel_target& target);
/// "scope team/build was cancelled at … by Alice: wrong branch. Nothing was started."
std::string stale_sentence(const storage::cancel_record& cancel);
/// How a command ended by itself: completed, or failed with what is wrong.
std::optional<storage::operation_error> error_of(const exit_state& exit);
/// The proof that a worker's later life gives by having cleared what an earlier one left.
proof proof_of(containment level);
/// The one result of a call that ran and was told to stop, that never began, that a restart interrupted.
storage::call_outcome cancelled_call();
storage::call_outcome call_not_started();
storage::call_outcome interrupted_call();
/// Of a call whose turn ran out of time, or ended for a reason of its own.
storage::call_outcome late_call(bool began);
storage::call_outcome left_call(bool began);
/// The `reason` of a turn_abort.
std::string_view abort_reason_of(stop_cause cause);
storage::call_outcome interrupted_before_start();
/// What a paused call waits for, for `waiting_for`.
std::pair<std::string, std::string> approval_reason();
/// Likewise of one that has begun and asks something.
std::pair<std::string, std::string> answer_reason();
/// The data of an approval_resolved that no human gave. `question`: of a begun call; absent: it waited to begin.
std::string dropped_question(const operation_id& call, const std::optional<operation_id>& question);
/// What a call asks, as the `result` of its row while it waits for the answer: this is what tells it from a call that
/// has not begun. And back.
std::string question_row(const asked_question& what);
std::optional<asked_question> read_question_row(const std::string& result);
std::uint64_t fingerprint_hash(const std::string& fingerprint);

} // namespace quell::controller::heart
