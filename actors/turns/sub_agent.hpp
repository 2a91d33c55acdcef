// A call of spawn_agent and the agent that it starts. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

/// `{"agent"?,"task","tools"?,"instructions"?,"worker"?}`
struct sub_agent_request {
  std::optional<std::string> agent;
  std::string task; ///< its prompt
  std::optional<std::vector<std::string>> tools;
  std::optional<std::string> instructions;
  std::optional<std::string> worker;
};

/// `input_json`: from a call that `read_input` accepted, or as the model wrote it. Fault `invalid_input`.
result<sub_agent_request> read_sub_agent_request(const std::string& input_json);

/// The settings that it runs with: those of the agent that it names, within the rights of `parent`
/// (sub_agent_rights.hpp), else those of `parent`. The list of tools can only become smaller; a worker that the
/// settings name is kept. The caller must count depth and width: the budget comes with one level of depth less than
/// `parent` has left. Fault `invalid_input` for the model.
result<agent_settings> sub_agent_settings(const turn_settings& settings, const agent_settings& parent,
                                          const sub_agent_request& request);

} // namespace quell::controller::turns
