// The notes of a workspace for the agents that work in it: AGENTS.md, and the skills that it holds. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quell::controller::turns {

struct project_notes {
  struct skill {
    std::string name, description;
    std::string path; ///< of its SKILL.md, in the workspace
  };
  std::string instructions;        ///< the text of AGENTS.md; "" = there is none
  bool is_cut = false;             ///< AGENTS.md is longer than that
  std::vector<std::string> nested; ///< the files AGENTS.md of folders below
  std::vector<skill> skills;

  std::size_t bytes() const;
};

/// The answer of quell-tool, which a task of the agent's user can have made up: every part is bounded. Nullopt: it is
/// not such an answer.
std::optional<project_notes> read_project_notes(const std::string& answer);

/// The text added to the instructions of an agent; "" = nothing. `most_bytes`: of AGENTS.md. `can_read`: the agent has
/// the tool `read`; without it, files that it cannot open are not listed.
std::string project_text(const project_notes& notes, std::size_t most_bytes, bool can_read);

} // namespace quell::controller::turns
