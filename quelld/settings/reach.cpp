// Finds unreachable parts of a configuration, and limits that limit nothing.
#include "quelld/settings/reach.hpp"

#include <algorithm>
#include <set>

#include "quelld/settings/turn_settings.hpp"

namespace quell::controller::turns {
namespace {

/// True if every scope that `later` lists (empty: all scopes) belongs to `earlier`, which comes first.
bool takes_all(const agent_settings& earlier, const agent_settings& later) {
  if (earlier.is_only_spawned) return false;
  if (earlier.scopes.empty()) return true;
  if (later.scopes.empty()) return false;
  return std::all_of(later.scopes.begin(), later.scopes.end(), [&](const scope_path& mine) {
    return std::any_of(earlier.scopes.begin(), earlier.scopes.end(),
                       [&](const scope_path& its) { return mine.is_at_or_below(its); });
  });
}

bool may_spawn(const agent_settings& a) {
  if (a.is_command() || a.budget.depth == 0 || a.budget.width == 0) return false;
  return !a.tools || std::find(a.tools->begin(), a.tools->end(), "spawn_agent") != a.tools->end();
}

bool has_tools_of(const agent_settings& a, const std::string& server) {
  return a.tools && std::any_of(a.tools->begin(), a.tools->end(), [&](const std::string& tool) {
           if (is_remote_agent(server)) return tool == server || tool == "a2a__" + server.substr(4);
           return tool == "mcp:" + server || tool.starts_with("mcp__" + server + "__");
         });
}

/// Whether the agent answers in the place or somewhere below it.
bool answers_in(const agent_settings& a, const scope_path& place) {
  return serves(a, place) ||
         std::any_of(a.scopes.begin(), a.scopes.end(), [&](const scope_path& s) { return s.is_at_or_below(place); });
}

void check_place(const turn_settings& s, const place_settings& p, std::vector<std::string>& all) {
  const auto place = "[[place]] \"" + p.scope.text() + "\"";
  if (const auto* closes = closed_by(s.chat, p.scope))
    all.push_back(place + ": [[place]] \"" + closes->scope.text() +
                  "\" does not list it in channels, so nobody may speak there");
  for (const auto& name : p.agents)
    if (const auto* a = s.agent(name); a && !answers_in(*a, p.scope))
      all.push_back(place + ": agent \"" + name + "\" serves no scope there; add one to its scopes");
}

/// The names of the models without a price that this agent can ask.
std::set<std::string> unpriced_models_of(const turn_settings& s, const agent_settings& a) {
  auto names = a.models;
  names.push_back(a.model);
  std::set<std::string> unpriced;
  const auto look_at = [&](const std::string& name) {
    const auto* m = s.model(name);
    if (m && !m->prices.any()) unpriced.insert(name);
    return m;
  };
  for (const auto& name : names) {
    const auto* m = look_at(name);
    if (!m) continue;
    for (const auto& other : m->fallback) (void)look_at(other);
  }
  return unpriced;
}

} // namespace

std::vector<std::string> what_costs_nothing(const turn_settings& s) {
  std::vector<std::string> all;
  for (const auto& a : s.agents) {
    if (a.is_command() || a.budget.max_cost_nanos == 0) continue;
    for (const auto& name : unpriced_models_of(s, a))
      all.push_back("agent \"" + a.name + "\": budget.max_cost never ends calls of model \"" + name +
                    "\", which has no price and so costs nothing; add price = { input = …, output = … } to its "
                    "[[models]], or limit max_tokens");
  }
  return all;
}

std::vector<std::string> what_cannot_be_reached(const turn_settings& s) {
  std::vector<std::string> all;
  const bool any_spawns = std::any_of(s.agents.begin(), s.agents.end(), may_spawn);
  for (auto a = s.agents.begin(); a != s.agents.end(); ++a) {
    if (a->is_command()) {
      if (!any_spawns)
        all.push_back("agent \"" + a->name + "\" is a command, and no agent has the tool spawn_agent to start it");
      if (!a->scopes.empty())
        all.push_back("agent \"" + a->name + "\" is a command: it answers no messages, not even in its own scopes");
      continue;
    }
    if (a->is_only_spawned) continue; // as configured
    const auto before =
        std::find_if(s.agents.begin(), a, [&](const auto& b) { return !b.is_command() && takes_all(b, *a); });
    const auto is_listed = [&](const place_settings& p) {
      return std::find(p.agents.begin(), p.agents.end(), a->name) != p.agents.end();
    };
    if (before != a && std::none_of(s.chat.places.begin(), s.chat.places.end(), is_listed))
      all.push_back("agent \"" + a->name + "\" answers no scope: \"" + before->name +
                    "\", which comes first, answers them all; it can only be named");
  }
  for (const auto& m : s.models)
    if (!is_used(s, m.name)) all.push_back("model \"" + m.name + "\" is used by no agent");
  for (const auto& m : s.mcp)
    if (std::none_of(s.agents.begin(), s.agents.end(), [&](const auto& a) { return has_tools_of(a, m.name); }))
      all.push_back((is_remote_agent(m.name) ? "remote agent \"" + m.name.substr(4) : "MCP server \"" + m.name) +
                    "\" is used by no agent: add \"" + (is_remote_agent(m.name) ? m.name : "mcp:" + m.name) +
                    "\" to the tools of one");
  if (std::all_of(s.agents.begin(), s.agents.end(), [](const auto& a) { return a.is_command(); }))
    all.push_back("no agent answers messages: each is a command");
  for (const auto& p : s.chat.places) check_place(s, p, all);
  return all;
}

} // namespace quell::controller::turns
