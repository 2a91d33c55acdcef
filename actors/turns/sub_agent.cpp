// From a call of spawn_agent to the agent that answers it.
#include "actors/turns/sub_agent.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/sub_agent_rights.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "actors/turns/tool_input.hpp"
#include "protocol/nearest.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::size_t most_instruction_bytes = 64 << 10, most_task_bytes = 256 << 10;

tl::unexpected<fault> wrong_order(const std::string& what) { return failure(failure_code::invalid_input, what); }

std::optional<std::string> text_if(const json& input, const char* key) {
  const auto at = input.find(key);
  if (at == input.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

} // namespace

result<sub_agent_request> read_sub_agent_request(const std::string& input_json) {
  static const auto tools = built_in_tools({});
  const auto tool =
      std::find_if(tools.begin(), tools.end(), [](const auto& t) { return t.offer.name == "spawn_agent"; });
  const auto read = read_input(*tool, input_json);
  if (!read) return tl::unexpected(read.error());
  const auto input = json::parse(read->json, nullptr, false);
  sub_agent_request r;
  r.task = text_if(input, "task").value_or("");
  r.agent = text_if(input, "agent");
  r.instructions = text_if(input, "instructions");
  r.worker = text_if(input, "worker");
  if (const auto names = input.find("tools"); names != input.end()) r.tools = names->get<std::vector<std::string>>();
  if (r.task.find_first_not_of(" \t\r\n") == std::string::npos)
    return wrong_order("`task` must say what the sub-agent is to do");
  if (r.task.size() > most_task_bytes)
    return wrong_order("`task` has more than " + std::to_string(most_task_bytes) +
                       " bytes; write the long part into a file in the workspace and name it");
  if (r.instructions && r.instructions->size() > most_instruction_bytes)
    return wrong_order("`instructions` has more than " + std::to_string(most_instruction_bytes) + " bytes");
  if (r.tools && r.tools->size() > most_offers)
    return wrong_order("`tools` has more than " + std::to_string(most_offers) + " names");
  if (r.worker && (r.worker->empty() || r.worker->size() > 128))
    return wrong_order("`worker` must be the name of a worker");
  return r;
}

result<agent_settings> sub_agent_settings(const turn_settings& settings, const agent_settings& parent,
                                          const sub_agent_request& request) {
  if (parent.budget.depth == 0)
    return failure(failure_code::too_deep,
                   "this agent may have no sub-agents (budget.depth is used up); do the task yourself");
  agent_settings agent = parent;
  if (request.agent) {
    const auto* named = settings.agent(*request.agent);
    if (!named) {
      std::vector<std::string> names;
      for (const auto& a : settings.agents) names.push_back(a.name);
      return wrong_order("`agent`: there is no agent " + request.agent->substr(0, 64) + "; there are " + listed(names));
    }
    auto allowed = within_rights_of(parent, *named);
    if (!allowed) return tl::unexpected(allowed.error());
    agent = std::move(*allowed);
  }
  agent.budget.depth = std::min(agent.budget.depth, parent.budget.depth - 1);
  if (agent.is_command() && (request.tools || request.instructions))
    return wrong_order("agent " + agent.name +
                       " is a command: it takes no `tools` and no `instructions`; say it in `task`");
  if (request.instructions) agent.instructions = *request.instructions;
  if (request.tools) {
    const auto owned = tools_given(agent);
    if (const auto name = not_owned(*request.tools, owned))
      return wrong_order("`tools`: " + name->substr(0, 64) + " is not a tool that agent " + agent.name +
                         " has; it has " + listed(owned));
    agent.tools = request.tools;
  }
  if (request.worker) {
    if (agent.worker && *agent.worker != *request.worker)
      return wrong_order("`worker`: agent " + agent.name + " works on " + *agent.worker + " only; leave it out");
    agent.worker = request.worker;
  }
  return agent;
}

} // namespace quell::controller::turns
