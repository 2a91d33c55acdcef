// Which calls wait for a human. Pure.
//
// A match on exec is tried against the whole command line and against every command in it, behind `sudo` and the like,
// without quotes and paths. Where a line cannot be judged (a command's name comes out of a variable), it is asked. It
// is a net against accidents; who wants to be sure writes a rule without `match`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/turns/settings.hpp"

namespace quell::controller::turns {

/// The text of the first rule that fits, "" if none does.
std::string rule_for(const std::vector<approval_rule>& rules, const std::string& tool_name,
                     const std::string& input_json);
/// How a rule is shown: `exec: rm *`, or `exec`.
std::string rule_text(const approval_rule& rule);

/// `*` any characters, also none and also `/` and newlines; `?` one byte. Time is at most pattern × text.
bool glob_fits(std::string_view pattern, std::string_view text);
/// Everything in a shell line that a match is tried against, the whole line first. With the empty text among them when
/// the line has a command that only the shell can name, or is too much to judge.
std::vector<std::string> commands_of(std::string_view line);

} // namespace quell::controller::turns
