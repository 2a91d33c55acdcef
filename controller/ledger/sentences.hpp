// Sentences and small derivations of the ledger that need no state: the author and target of a cancel, ends from
// exits.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "controller/open_questions.hpp"
#include "controller/orders.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::live {

/// "scope team/build", "operation 01…", "everything of owner alice", "everything".
std::string target_text(const records::cancel_target& target);
/// "scope team/build was cancelled at … by Alice: wrong branch. Nothing was started."
std::string stale_sentence(const records::cancel_record& cancel);
/// How a command ended by itself: nullopt = completed, else the error with which it failed.
std::optional<records::operation_error> error_of(const exit_state& exit);
/// The proof that a worker's later life gives by having cleared the tasks of an earlier one.
proof proof_of(containment level);
/// The one result of a call: one that ran and was told to stop, one that never began, one that a restart interrupted.
records::call_outcome cancelled_call();
records::call_outcome call_not_started();
records::call_outcome interrupted_call();
/// The result of a call whose turn ran out of time, used up its budget or ended for another reason.
records::call_outcome late_call(bool has_begun);
records::call_outcome unpaid_call(bool has_begun);
records::call_outcome left_call(bool has_begun);
/// The `reason` of a turn_abort.
std::string_view abort_reason_of(stop_cause cause);
records::call_outcome interrupted_before_start();
/// The reason for `waiting_for` of a call that is paused for approval.
std::pair<std::string, std::string> approval_reason();
/// The reason for `waiting_for` of a call that has begun and asks a question.
std::pair<std::string, std::string> answer_reason();
/// The data of an approval_resolved that no human gave. `question`: that of a call that has begun; absent: the call
/// waited to begin.
std::string dropped_question(const operation_id& call, const std::optional<operation_id>& question);
/// The question of a call as the `result` of its row while the call waits for the answer; it distinguishes this call
/// from one that has not begun. And the reverse.
std::string question_row(const paused_question& what);
std::optional<paused_question> read_question_row(const std::string& result);
/// How often a turn went on after a restart, and waited (`operation_node::waits`), as the `result` of its row while its
/// own work has not ended; and the reverse, 0 for any other text.
struct counted_resumes {
  std::uint8_t resumes = 0, waits = 0;
};
std::string resumes_row(counted_resumes times);
counted_resumes read_resumes_row(const std::string& result);
std::uint64_t fingerprint_hash(const std::string& fingerprint);

} // namespace quell::controller::live
