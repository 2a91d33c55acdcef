// Reads the stored conversation of a scope for one turn: its beginning, and everything up to the turn as far as a limit
// allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/records/history.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

struct reading_limits {
  std::size_t messages = 2'000;
  std::size_t bytes = 2 << 20;   ///< of texts, inputs and results
  std::uint32_t from_start = 12; ///< the first messages of the conversation, so that it keeps its beginning
  std::uint32_t page = 200;
  std::size_t most_read = 100'000; ///< messages looked at, with those of later turns
};

struct stored_history {
  std::vector<records::kept_message> kept; ///< in order of seq, but for the newest summary, which comes first
  /// Messages between this seq and the next in `kept` were not read; 0 = all were.
  std::uint64_t gap_behind = 0;
};

/// Messages of turns that were requested after `turn` are not part of it, however many there are; without a turn
/// everything is. Nothing is read that the newest summary stands for, or that came before a clear.
result<stored_history> read_history(store_reader& store, const scope_path& scope,
                                    const std::optional<operation_id>& turn, const reading_limits& limits = {});
/// The same for a turn that begins with this message, which needs not be on disk yet: only what came before it is read.
result<stored_history> read_history_behind(store_reader& store, const records::message_record& own,
                                           const reading_limits& limits = {});

/// The newest message of this scope with this client id, or its newest edit (client id `<id>/…`) if there is one.
result<std::optional<records::message_record>> with_newest_edit(store_reader& store, const scope_path& scope,
                                                                const std::string& client_id);

} // namespace quell::controller::turns
