// The exchanges of a stored conversation, as those name them who change it, and copies of them for another scope.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/turns/endings.hpp"
#include "controller/records/history.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// A message of a person with everything that answers it.
struct stored_exchange {
  records::message_record request;
  std::optional<operation_id> turn;              ///< none: the message stopped something
  std::vector<message_id> ids;                   ///< of all its messages
  std::vector<records::message_record> steering; ///< those of people that were told while its turn ran
  std::uint64_t messages = 0;
  bool is_partly_covered = false; ///< a summary stands for a part of it
};

/// Those that are still read as they are, in the order of their requests: at most the newest that a turn would read.
result<std::vector<stored_exchange>> exchanges_of(store_reader& store, const scope_path& scope);

/// The exchange that has this message; the size if none has.
std::size_t find_exchange(const std::vector<stored_exchange>& all, const message_id& message);

/// The messages for the conversation of `to`, with ids, turns and calls of their own: a change of either conversation
/// leaves the other one alone. The known ends of turns and calls come with them.
std::vector<records::kept_message> copies_of(const std::vector<records::kept_message>& kept, const scope_path& to,
                                             const history_facts& facts);

/// Of their texts, inputs and results, which are nearly all of a row.
std::uint64_t bytes_of(const std::vector<records::kept_message>& rows);

} // namespace quell::controller::turns
