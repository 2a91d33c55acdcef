// Applies the choice of a message to the settings of its agent, and keeps it in the turn's block.
#include "actors/turns/message_choice.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/has_name.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/sub_agent_rights.hpp"
#include "controller/refused_with.hpp"
#include "protocol/nearest.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

bool has_model(const agent_settings& agent, const std::string& model) {
  return model == agent.model || has_name(agent.models, model);
}

agent_settings with_tools(agent_settings agent, std::vector<std::string> tools) {
  agent.tools = std::move(tools);
  agent.may_spawn.clear(); // they would have rights of their own
  return agent;
}

} // namespace

tl::expected<agent_settings, refusal> chosen(const turn_settings& settings, agent_settings agent,
                                             const message_choice& choice) {
  if (choice.model) {
    auto models = agent.models;
    if (!has_name(models, agent.model)) models.insert(models.begin(), agent.model);
    if (!has_model(agent, *choice.model) || !settings.model(*choice.model))
      return refused_with(error_code::invalid_field,
                          "agent " + agent.name + " has no model " + choice.model->substr(0, 64) + "; it has " +
                              listed(models) + " (`model` and `models` of [[agents]])",
                          "/model");
    agent.model = *choice.model;
  }
  if (!choice.tools) return agent;
  const auto owned = tools_given(agent);
  for (std::size_t i = 0; i < choice.tools->size(); ++i)
    if (const auto name = not_owned({(*choice.tools)[i]}, owned))
      return refused_with(error_code::invalid_field,
                          "agent " + agent.name + " has no tool " + name->substr(0, 64) + "; it has " + listed(owned) +
                              ", and a message can only take some of them away",
                          "/tools/" + std::to_string(i));
  return with_tools(std::move(agent), *choice.tools);
}

std::optional<agent_settings> still_chosen(agent_settings agent, const message_choice& choice) {
  if (choice.model && !has_model(agent, *choice.model)) return std::nullopt;
  auto possible = possible_part(agent, choice);
  if (possible.model) agent.model = std::move(*possible.model);
  if (!possible.tools) return agent;
  return with_tools(std::move(agent), std::move(*possible.tools));
}

message_choice possible_part(const agent_settings& agent, message_choice choice) {
  if (choice.model && !has_model(agent, *choice.model)) choice.model.reset();
  if (choice.tools) {
    const auto owned = tools_given(agent);
    std::erase_if(*choice.tools, [&](const std::string& name) { return not_owned({name}, owned).has_value(); });
  }
  return choice;
}

std::string with_choice(const std::string& block, const message_choice& choice) {
  if (choice.is_none()) return block;
  auto all = json::parse(block, nullptr, false);
  if (!all.is_object()) all = json::object();
  auto& kept = all["choice"] = json::object();
  if (choice.model) kept["model"] = *choice.model;
  if (choice.tools) kept["tools"] = *choice.tools;
  return json_text(all);
}

message_choice choice_of(const std::string& block) {
  message_choice choice;
  if (block.find(R"("choice")") == std::string::npos) return choice;
  const auto all = json::parse(block, nullptr, false);
  if (!all.is_object() || !all.contains("choice") || !all["choice"].is_object()) return choice;
  const auto& kept = all["choice"];
  if (const auto model = kept.find("model"); model != kept.end() && model->is_string())
    choice.model = model->get<std::string>();
  if (const auto tools = kept.find("tools"); tools != kept.end() && tools->is_array()) {
    choice.tools.emplace();
    for (const auto& name : *tools)
      if (name.is_string()) choice.tools->push_back(name.get<std::string>());
  }
  return choice;
}

} // namespace quell::controller::turns
