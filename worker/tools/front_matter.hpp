// The head of a SKILL.md (Agent Skills): its name and its description. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell::worker::tools {

struct skill_head {
  std::string name;        ///< 1 to 64 of `a-z 0-9 -`
  std::string description; ///< one line of 1 to 1024 bytes
};

/// Reads the front matter between two lines `---`: plain, quoted, folded (`>`) and literal (`|`) values of `name` and
/// `description`. Other fields are passed over. Nullopt if either is missing or not valid.
std::optional<skill_head> head_of_skill(std::string_view text);

} // namespace quell::worker::tools
