// An operation in words: name, state, elapsed time, and the sentences of `show` and `why`. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/columns.hpp"
#include "cli/instant.hpp"
#include "protocol/time.hpp"

namespace quell::cli {

struct session;

/// The settings for showing times and colours.
struct view {
  wall_time now{};
  time_zone zone = time_zone::local;
  bool color = false;
  character_set characters = character_set::ascii;
};
/// As the user's terminal and flags require, at this moment.
view view_of(const session& s);
/// The same without colours, and in ASCII.
view plain_view_of(const session& s);

/// The command as a person could type it, arguments quoted if needed, at most 200 characters.
std::string command_text(const nlohmann::json& words);
/// The title, otherwise the command, otherwise the name, otherwise the kind; for a turn or sub-agent its answerer and
/// its message, for a tool call its name and its input.
std::string operation_name(const nlohmann::json& operation);
/// `running`, `completed`, `failed exit 3`, `failed timeout`, `cancelled killed`, `pending (slot)`, `cancelling (kill
/// in 1.2s)`, `running unreachable`.
std::string operation_state(const nlohmann::json& operation, const view& v);
/// From start (or creation) to end (or now).
std::string operation_age(const nlohmann::json& operation, const view& v);
/// `09:51:07 (3m05s ago)`; "-" for null.
std::string instant_and_age(const nlohmann::json& object, const char* name, const view& v);
/// Why it does not start, or how it is being stopped, since when, and the next step; one sentence per line. Empty for
/// plain running.
std::vector<std::string> operation_reasons(const nlohmann::json& operation, const view& v);
/// `Alice`, `alice` or `-`.
std::string person(const nlohmann::json& owner);

} // namespace quell::cli
