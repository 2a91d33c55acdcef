// An operation in words: name, state, elapsed time, and the sentences of `show` and `why`. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protocol/time.hpp"

namespace quell::cli {

struct session;

/// How times and colours are shown.
struct view {
  wall_time now{};
  bool utc = false;
  bool color = false;
  bool utf8 = false;
};
/// As the user's terminal and flags have it, at this moment.
view view_of(const session& s);

/// The command as one could type it, arguments quoted where needed, at most 200 characters.
std::string command_text(const nlohmann::json& words);
/// The title, else the command, else the name, else the kind; of a turn or sub-agent
/// who answers and what was said, of a tool call its name and what it is to do.
std::string operation_name(const nlohmann::json& operation);
/// `running`, `completed`, `failed exit 3`, `failed timeout`, `cancelled killed`, `pending (slot)`, `cancelling (kill
/// in 1.2s)`, `running unreachable`.
std::string operation_state(const nlohmann::json& operation, const view& v);
/// From start (or creation) to end (or now).
std::string operation_age(const nlohmann::json& operation, const view& v);
/// `09:51:07 (3m05s ago)`; "-" for null.
std::string instant_and_age(const nlohmann::json& object, const char* name, const view& v);
/// Why it does not start, or what is being done to it, since when, and what comes next; one sentence per line. Empty
/// for plain running.
std::vector<std::string> operation_reasons(const nlohmann::json& operation, const view& v);
/// `Alice`, `alice` or `-`.
std::string person(const nlohmann::json& owner);

} // namespace quell::cli
