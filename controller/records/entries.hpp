// Rows as commands to the store: everything that a batch of the journal can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "controller/records/boxed.hpp"
#include "controller/records/costs.hpp"
#include "controller/records/history.hpp"
#include "controller/records/records.hpp"
#include "protocol/fault.hpp"

namespace quell::records {

// The entries that can be written. Rows are replaced whole by key unless stated otherwise.
struct put_operation {
  boxed<operation_record> record; ///< by far the largest record
};                                ///< insert
struct update_operation {
  operation_id id;
  operation_hot hot;
}; ///< the part that changes while it lives
struct put_cancel {
  cancel_record record;
}; ///< insert or replace
struct put_cutoff {
  cutoff_record record;
};
struct drop_cutoff {
  scope_path scope;
};
struct put_tombstone {
  tombstone_record record;
};
struct drop_tombstone {
  operation_id id;
};
struct put_worker {
  worker_record record;
};
struct drop_worker {
  std::string name;
};
struct put_token {
  token_record record;
};
struct drop_token {
  token_id id;
};
struct put_event {
  event_record record;
};
/// Insert. A message of role assistant must be followed at once by its calls and by the message that will show their
/// results.
struct put_message {
  message_record record;
};
/// Insert, without a result even if the record has one.
struct put_call {
  call_record record;
};
/// The only result of a call: the first one is kept, a later one changes nothing; without effect if the operation is
/// not a call.
struct put_call_result {
  operation_id operation;
  call_outcome outcome;
};
/// A human approved the call with another input: the first one is kept.
struct put_call_change {
  operation_id operation;
  std::string changed; ///< see call_record
};
/// Evidence about an operation's end that came after it: the first word is kept, a later one changes nothing; without
/// effect while the operation lives, and if its row is gone.
struct put_late {
  operation_id operation;
  std::string late; ///< JSON text, see operation_hot
};
/// The user's message for this turn was taken back before the turn began.
struct discard_message {
  operation_id turn;
};
/// The ending of this turn as later prompts of its conversation tell it, whatever its row says: JSON text, as
/// `turns::ending_text` writes it. It is merged into the decision of the message that the turn answers.
struct put_turn_ending {
  operation_id turn;
  std::string ending;
};
/// The stop that a message ordered is acknowledged.
struct acknowledge_message {
  message_id message;
};
// Deletions of old, finished rows (see `old_rows`). Each one affects only the named rows, and only if its condition
// still holds.
/// An ended operation that no kept one has as its parent.
struct drop_operation {
  operation_id id;
};
/// A settled cancel.
struct drop_cancel {
  cancel_id id;
};
/// Events up to and including this id, at most 1,000 of them; the newest one of all always stays.
struct drop_events {
  std::uint64_t up_to = 0;
};
/// Adds to the row of this day, scope, author, agent and model. Also drops a few rows of days before `keep_from`: more
/// than one entry can add, so that old rows do not pile up.
struct add_cost {
  cost_record record;
  utc_day keep_from = no_day;
};
/// The sum of a live turn, replaced whole.
struct put_turn_cost {
  turn_cost_record record;
};
/// The turn has ended.
struct drop_turn_cost {
  operation_id turn;
};
/// seq numbers below `limit` may be handed out before the next commit of a higher limit; a restart continues at
/// `limit`.
struct reserve_seq {
  std::uint64_t limit = 0;
};

using entry =
    std::variant<put_operation, update_operation, put_cancel, put_cutoff, drop_cutoff, put_tombstone, drop_tombstone,
                 put_worker, drop_worker, put_token, drop_token, put_event, reserve_seq, drop_operation, drop_cancel,
                 drop_events, put_message, put_call, put_call_result, discard_message, acknowledge_message, add_cost,
                 put_turn_cost, drop_turn_cost, put_call_change, put_turn_ending, put_late>;

/// True for an end, and for rows that are valid only because ends were written before them: a settled cancel, a cutoff
/// that is no longer needed, a worker that is gone. On disk they must not exist without those ends.
bool depends_on_terminal_rows(const entry& what);

/// True for a cancel. Everything that it does not cover has ended, or an earlier cancel covers it: it must not be on
/// disk without the ends and the cancels before it, or a restart brings back what it was answered not to live.
bool says_what_lives(const entry& what);

/// True for both: what a refusal of an earlier batch holds up, and what holds up later ones if it is refused itself.
inline bool needs_what_came_before(const entry& what) {
  return depends_on_terminal_rows(what) || says_what_lives(what);
}

/// The outcome of all batches up to and including `ticket`. If `failure` is set, this batch could not be written
/// (nothing of it is on disk).
struct commit_notice {
  std::uint64_t ticket = 0;
  std::optional<fault> failure;
};

} // namespace quell::records
