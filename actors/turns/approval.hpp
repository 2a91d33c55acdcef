// Decides which calls wait for a human. Pure.
//
// A match on exec is tried against the whole command line and against every command in it, after `sudo` and the like,
// without quotes and paths. If a line cannot be analysed (a command's name comes from a variable), a human is asked.
// This guards against accidents; for certainty write a rule without `match`.
//
// A rule that allows is read the other way round: it counts only for a line of plain words, every command of which fits
// such a rule. A line that is not understood is not allowed, and waits for a human if a rule asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/turns/settings.hpp"

namespace quell::controller::turns {

/// The first rule that fits and denies, else the first that fits and asks; nullptr: none does, or the call is allowed.
const approval_rule* deciding_rule(const std::vector<approval_rule>& rules, const std::string& tool_name,
                                   const std::string& input_json);
/// Its text, "" if none fits.
std::string rule_for(const std::vector<approval_rule>& rules, const std::string& tool_name,
                     const std::string& input_json);
/// A rule as users see it: `exec: rm *`, or `exec`.
std::string rule_text(const approval_rule& rule);

/// `*` matches any characters, including none, `/` and newlines; `?` matches one byte. Takes at most pattern × text
/// steps.
bool glob_fits(std::string_view pattern, std::string_view text);
/// The commands of a line of plain words (letters, digits, `_-./:=,@%+`) with `&&`, `||`, `|` and `;` between them;
/// nullopt: it has anything else, such as quotes, redirections, variables or line breaks, or an empty command.
std::optional<std::vector<std::string>> plain_commands(std::string_view line);
/// All texts of a shell line against which a match is tried, the whole line first. Includes the empty text if the line
/// has a command that only the shell can name, or is too large to analyse.
std::vector<std::string> commands_of(std::string_view line);

} // namespace quell::controller::turns
