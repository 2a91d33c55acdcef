// Looking things up in settings.
#include "actors/turns/settings.hpp"

#include <algorithm>

namespace quell::controller::turns {

const integrations::model_settings* turn_settings::model(std::string_view name) const {
  const auto at = std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == name; });
  return at == models.end() ? nullptr : &*at;
}

const agent_settings* turn_settings::agent(std::string_view name) const {
  const auto at = std::find_if(agents.begin(), agents.end(), [&](const auto& a) { return a.name == name; });
  return at == agents.end() ? nullptr : &*at;
}

std::optional<integrations::model_settings> model_of(const turn_settings& settings, const agent_settings& agent) {
  const auto* found = settings.model(agent.model);
  if (!found) return std::nullopt;
  const auto is_requested_by = [&](const integrations::model_settings& model) {
    auto own = model;
    own.answer = integrations::merged(agent.answer, model.answer, model.provider);
    own.fallbacks.clear();
    return own;
  };
  auto model = is_requested_by(*found);
  for (const auto& name : found->fallback)
    if (const auto* other = settings.model(name)) model.fallbacks.push_back(is_requested_by(*other));
  return model;
}

bool serves(const agent_settings& agent, const scope_path& scope) {
  if (agent.scopes.empty()) return !agent.is_only_spawned;
  return std::any_of(agent.scopes.begin(), agent.scopes.end(),
                     [&](const scope_path& s) { return scope.is_at_or_below(s); });
}

const agent_settings* agent_for(const turn_settings& settings, const scope_path& scope,
                                const std::optional<std::string>& named) {
  const auto* allowed = agents_in(settings.chat, scope);
  if (named) {
    const auto* agent = settings.agent(*named);
    if (allowed && std::find(allowed->begin(), allowed->end(), *named) == allowed->end()) return nullptr;
    return agent && serves(*agent, scope) ? agent : nullptr;
  }
  const auto answers = [&](const agent_settings& a) { return !a.is_command() && serves(a, scope); };
  if (allowed) {
    for (const auto& name : *allowed)
      if (const auto* agent = settings.agent(name); agent && answers(*agent)) return agent;
    return nullptr;
  }
  const auto first = std::find_if(settings.agents.begin(), settings.agents.end(), answers);
  return first == settings.agents.end() ? nullptr : &*first;
}

} // namespace quell::controller::turns
