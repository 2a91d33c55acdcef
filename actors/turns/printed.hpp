// The output of a command, for the result of a call that did not end by itself.
#pragma once

#include <optional>
#include <string>

#include "actors/turns/endings.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/output_reader.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// Beginning and end of what a stream has so far, at most `most` bytes of valid UTF-8, with a line between that counts
/// what is missing. Sets `was_cut` if something is.
std::string ends_of_stream(output_reader& output, const operation_id& task, stream which, std::size_t most,
                           bool& was_cut);

/// `{"stdout":…,"stderr":…,"truncated":…}` of the task that this call runs; nullopt: it printed nothing. Reads the
/// disk.
std::optional<std::string> printed_by(const operation_id& call, store_reader& store, output_reader& output);

/// How much it has printed so far; nullopt: it has not begun. Reads the disk.
std::optional<printing> printing_of(const operation_id& call, store_reader& store, output_reader& output);

/// The result with `printed`, a text as above, beside its error.
std::string with_printed(const std::string& result_json, const std::string& printed);

/// Finds what the newest stopped calls of exec in these messages printed.
void find_printed(history_facts& facts, const std::vector<records::kept_message>& kept, store_reader& store,
                  output_reader& output);

} // namespace quell::controller::turns
