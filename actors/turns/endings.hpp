// The endings of earlier turns of a scope, as a model must know them: work that a stop ended must not be repeated, work
// that a failure or a restart ended is unfinished, and the outcome of some calls is unknown.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/records/history.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

struct turn_ending {
  enum class how : std::uint8_t { completed, cancelled, unfinished } as = how::completed;
  std::string why; ///< why it is unfinished, as text
};

struct history_facts {
  std::map<operation_id, turn_ending> turns;   ///< a turn that is missing here completed
  std::set<operation_id> unknown;              ///< calls that have possibly had an effect
  std::map<operation_id, std::string> printed; ///< by stopped calls of exec: JSON text, see printed.hpp
};

turn_ending ending_of(const records::operation_record& turn);
using row_source = std::function<result<std::optional<records::operation_record>>(const operation_id&)>;
/// As the conversation tells it: if its voice exchange was cancelled, a turn counts as cancelled.
turn_ending ending_in_conversation(const records::operation_record& turn, const row_source& row_of);
/// True if the call began, did not run to its end, and has no proof of its outcome.
bool is_outcome_unknown(const records::operation_record& call);

/// The ending as JSON text, kept with the copy of a message whose turn is not its own; "" = it completed.
std::string ending_text(const turn_ending& ending);
/// From a message's stored decision; nullopt: it has none.
std::optional<turn_ending> ending_in(const std::string& decision);

/// Operations as the ledger knows them beyond their rows.
using known_ends = std::map<operation_id, records::operation_hot>;

/// Turns that have messages in `kept`, are not `own`, and are not over by their rows: their ends may wait for the disk.
std::vector<operation_id> open_turns(const std::vector<records::kept_message>& kept, const operation_id& own,
                                     store_reader& store);

/// Of the messages in `kept`, but for those of `own` turn. Rows that cannot be read say nothing.
history_facts facts_of(const std::vector<records::kept_message>& kept, const operation_id& own, store_reader& store,
                       const known_ends& known = {});

/// The note for the model after the messages of a turn with this ending; "" = none.
std::string note_of(const turn_ending& ending, bool was_answered, bool was_cut);
/// The same result, marked as having an unknown outcome.
std::string with_unknown_outcome(const std::string& result_json);

} // namespace quell::controller::turns
