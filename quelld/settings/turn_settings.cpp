// Defaults, keys, and checks between the entries of a configuration.
#include "quelld/settings/turn_settings.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "actors/turns/has_name.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "protocol/blanks.hpp"
#include "protocol/nearest.hpp"
#include "quelld/settings/settings_read.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t most_key_bytes = 16 << 10;

template <class Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& e : entries) names.push_back(e.name);
  return names;
}

template <class Entries>
std::optional<fault> named_twice(const Entries& entries, const std::string& section) {
  std::set<std::string> seen;
  for (const auto& e : entries)
    if (!seen.insert(e.name).second)
      return coded_fault{
          error_code::invalid_field, "[[" + section + "]] has \"" + e.name + "\" twice; give each its own name", {}};
  return std::nullopt;
}

std::string instead_of(const std::string& wrong, const std::vector<std::string>& known) {
  return known.empty() ? "there is none" : "the nearest known one is \"" + nearest(wrong, known) + "\"";
}

/// The error in a tool's name in `tools` or `[tools.timeouts]`; "" = none.
std::string wrong_tool(const turn_settings& s, const std::string& name) {
  if (is_built_in_tool(name)) return {};
  const auto servers = names_of(s.mcp);
  const auto known = [&](const std::string& server) {
    return std::find(servers.begin(), servers.end(), server) != servers.end();
  };
  if (name.starts_with("mcp:")) {
    if (known(name.substr(4))) return {};
    return "names an MCP server that no [[mcp]] has; " + instead_of(name.substr(4), servers);
  }
  if (is_remote_agent(name) || name.starts_with("a2a__")) {
    const auto server = std::string(remote_agent_prefix) + name.substr(is_remote_agent(name) ? 4 : 5);
    if (known(server)) return {};
    return "names a remote agent that no [[a2a]] has; " + instead_of(server, servers);
  }
  if (name.starts_with("mcp__")) {
    const bool of_one = std::any_of(servers.begin(), servers.end(), [&](const std::string& server) {
      return name.starts_with("mcp__" + server + "__") && is_configured_name(name);
    });
    return of_one ? "" : "names a tool of an MCP server that no [[mcp]] has; the form is mcp__SERVER__TOOL";
  }
  auto words = built_in_tool_names();
  for (const auto& server : servers) words.push_back(is_remote_agent(server) ? server : "mcp:" + server);
  return "is not a tool; " + instead_of(name, words) + " (built in: " + listed(built_in_tool_names()) + ")";
}

std::optional<fault> model_that_does_not_fit(const turn_settings& s, const integrations::model_settings& m) {
  const auto place = "[[models]] \"" + m.name + "\": fallback ";
  for (const auto& name : m.fallback) {
    if (name == m.name)
      return coded_fault{error_code::invalid_field, place + "names the model itself; name others, or none", {}};
    if (!s.model(name))
      return coded_fault{error_code::invalid_field,
                         place + "\"" + name + "\" is in no [[models]]; " + instead_of(name, names_of(s.models)),
                         {}};
  }
  if (std::set<std::string>(m.fallback.begin(), m.fallback.end()).size() != m.fallback.size())
    return coded_fault{error_code::invalid_field, place + "has a name twice", {}};
  return std::nullopt;
}

std::optional<fault> agent_that_does_not_fit(const turn_settings& s, const agent_settings& a) {
  const auto place = "[[agents]] \"" + a.name + "\": ";
  if (!a.is_command() && !a.model.empty() && !s.model(a.model))
    return coded_fault{error_code::invalid_field, place + "model \"" + a.model + "\" is in no [[models]]; " +
                                                      instead_of(a.model, names_of(s.models))};
  for (const auto& name : a.models)
    if (!s.model(name))
      return coded_fault{error_code::invalid_field, place + "models: \"" + name + "\" is in no [[models]]; " +
                                                        instead_of(name, names_of(s.models))};
  if (a.tools) {
    for (const auto& name : *a.tools)
      if (const auto why = wrong_tool(s, name); !why.empty())
        return coded_fault{error_code::invalid_field, place + "tools: \"" + name + "\" " + why, {}};
    const bool can_search = s.web_search.by != integrations::search_settings::provider::none;
    if (!can_search && has_name(*a.tools, "web_search"))
      return coded_fault{error_code::invalid_field, place + "tools: \"web_search\" needs the section [web_search]", {}};
    if (std::set<std::string>(a.tools->begin(), a.tools->end()).size() != a.tools->size())
      return coded_fault{error_code::invalid_field, place + "tools has a name twice", {}};
  }
  for (const auto& name : a.may_spawn)
    if (!s.agent(name))
      return coded_fault{error_code::invalid_field,
                         place + "may_spawn: there is no agent \"" + name + "\"; " +
                             instead_of(name, names_of(s.agents)),
                         {}};
  return std::nullopt;
}

/// Rejects a rule that can never fit, because it would silently guard nothing.
std::optional<fault> rule_that_fits_nothing(const turn_settings& s, const approval_rule& rule) {
  const auto place = "[[approval]] tool = \"" + rule.tool + "\": ";
  if (rule.tool.find_first_of("*?") != std::string::npos) return std::nullopt;
  if (rule.tool.starts_with("acp:")) {
    std::vector<std::string> agents;
    for (const auto& a : s.agents)
      if (a.acp) agents.push_back(a.name);
    const auto name = rule.tool.substr(4);
    if (std::find(agents.begin(), agents.end(), name) != agents.end()) return std::nullopt;
    return coded_fault{
        error_code::invalid_field, place + "no [[agents]] with acp has that name; " + instead_of(name, agents), {}};
  }
  if (const auto why = wrong_tool(s, rule.tool); !why.empty())
    return coded_fault{error_code::invalid_field, place + "\"" + rule.tool + "\" " + why, {}};
  return std::nullopt;
}

std::optional<fault> place_that_does_not_fit(const turn_settings& s, const place_settings& p) {
  const auto place = "[[place]] \"" + p.scope.text() + "\": agents: ";
  for (const auto& name : p.agents) {
    const auto* agent = s.agent(name);
    if (!agent)
      return coded_fault{error_code::invalid_field,
                         place + "there is no agent \"" + name + "\"; " + instead_of(name, names_of(s.agents)),
                         {}};
    if (agent->is_command())
      return coded_fault{
          error_code::invalid_field, place + "\"" + name + "\" is a command, which answers no messages", {}};
  }
  if (std::set<std::string>(p.agents.begin(), p.agents.end()).size() != p.agents.size())
    return coded_fault{error_code::invalid_field, place + "has a name twice", {}};
  return std::nullopt;
}

/// The value without surrounding white space.
result<std::string> key_in_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(most_key_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.is_open() || in.gcount() == 0)
    return failure(error_code::invalid_field,
                   "key_file " + path + " cannot be read or is empty; check the path and its rights");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_key_bytes)
    return failure(error_code::invalid_field, "key_file " + path + " is too long for a key");
  const auto key = trimmed(text);
  if (key.empty()) return failure(error_code::invalid_field, "key_file " + path + " is empty; write the key into it");
  return std::string(key);
}

result<std::string> key_in_environment(const std::string& name, const std::map<std::string, std::string>& environment,
                                       const char* setting = "key_env") {
  const auto it = environment.find(name);
  if (it == environment.end() || it->second.empty())
    return failure(error_code::invalid_field,
                   "the environment variable " + name + " (" + setting + ") is not set; set it for quelld");
  return it->second;
}

} // namespace

bool is_used(const turn_settings& s, const std::string& model) {
  const auto asks = [&](const std::string& name) {
    if (name == model) return true;
    const auto* first = s.model(name);
    return first && std::find(first->fallback.begin(), first->fallback.end(), model) != first->fallback.end();
  };
  const auto may_reach = [&](const agent_settings& a) {
    return !a.is_command() && (asks(a.model) || std::any_of(a.models.begin(), a.models.end(), asks));
  };
  return model == s.chat.acknowledgement_model || std::any_of(s.agents.begin(), s.agents.end(), may_reach);
}

namespace {

std::string place_of_server(const mcp_settings& m) {
  if (is_remote_agent(m.name)) return "[[a2a]] \"" + m.name.substr(remote_agent_prefix.size()) + "\": ";
  return "[[mcp]] \"" + m.name + "\": ";
}

/// An agent's own answer settings must fit each model that it can ask, and the fallbacks of that model.
std::optional<fault> answer_that_does_not_fit(const turn_settings& s, const agent_settings& a) {
  auto asking = a;
  auto names = a.models;
  names.insert(names.begin(), a.model);
  for (const auto& name : names) {
    asking.model = name;
    const auto chosen = model_of(s, asking);
    if (!chosen) continue;
    std::vector<integrations::model_settings> all = chosen->fallbacks;
    all.push_back(*chosen);
    for (const auto& one : all)
      if (auto wrong = integrations::wrong_settings(one))
        return coded_fault{error_code::invalid_field, "[[agents]] \"" + a.name + "\": " + wrong->detail, {}};
  }
  return std::nullopt;
}

/// Requires only the keys that agents use: a configuration can list models whose keys this machine does not have.
std::optional<fault> take_keys(turn_settings& s, const std::map<std::string, std::string>& environment) {
  for (auto& m : s.models) {
    const bool used = is_used(s, m.name);
    const auto place = "[[models]] \"" + m.name + "\": ";
    const auto source = s.keys.find(m.name);
    if (source != s.keys.end())
      for (const auto& [header, variable] : source->second.headers_env) {
        auto value = key_in_environment(variable, environment, "headers_env");
        if (value && value->find_first_of("\r\n") != std::string::npos)
          value =
              failure(error_code::invalid_field, "the value of " + variable + " (headers_env) is more than one line");
        if (value)
          m.headers[header] = std::move(*value);
        else if (used)
          return coded_fault{error_code::invalid_field, place + value.error().detail, {}};
      }
    if (source != s.keys.end() && (!source->second.file.empty() || !source->second.env.empty())) {
      auto key = source->second.file.empty() ? key_in_environment(source->second.env, environment)
                                             : key_in_file(source->second.file);
      if (key) {
        m.key = std::move(*key);
      } else if (used) {
        return coded_fault{error_code::invalid_field, place + key.error().detail, {}};
      }
    }
    if (!used) continue;
    if (auto wrong = integrations::wrong_settings(m))
      return coded_fault{error_code::invalid_field, "[[models]]: " + wrong->detail, {}};
  }
  for (const auto& a : s.agents)
    if (!a.is_command())
      if (auto wrong = answer_that_does_not_fit(s, a)) return wrong;
  if (!s.web_search.key_file.empty()) {
    auto key = key_in_file(s.web_search.key_file);
    if (key && key->find_first_of("\r\n") != std::string::npos)
      key = failure(error_code::invalid_field, "key_file has two lines");
    if (!key) return coded_fault{error_code::invalid_field, "[web_search]: " + key.error().detail, {}};
    s.web_search.key = std::move(*key);
  }
  for (auto& m : s.mcp) {
    const auto take = [&](const std::string& from, const char* setting, std::string& to) -> std::optional<fault> {
      if (from.empty()) return std::nullopt;
      auto key = key_in_environment(from, environment, setting);
      if (!key) return coded_fault{error_code::invalid_field, place_of_server(m) + key.error().detail};
      to = std::move(*key);
      return std::nullopt;
    };
    if (auto wrong = take(m.key_env, "key_env", m.key)) return wrong;
    if (!m.key_file.empty()) {
      auto key = key_in_file(m.key_file);
      if (!key) return coded_fault{error_code::invalid_field, place_of_server(m) + key.error().detail};
      m.key = std::move(*key);
    }
    if (auto wrong = take(m.client_secret_env, "client_secret_env", m.client_secret)) return wrong;
  }
  return std::nullopt;
}

void add_what_is_not_named(turn_settings& s) {
  if (s.models.empty()) {
    s.models.emplace_back();
    s.models.back().name = "scripted";
  }
  if (s.agents.empty()) {
    s.agents.emplace_back();
    s.agents.back().name = "default";
    s.agents.back().mode = workspace_mode::per_scope;
  }
  for (auto& a : s.agents)
    if (!a.is_command() && a.model.empty()) a.model = s.models.front().name;
}

} // namespace

const std::vector<std::string>& turn_sections() {
  static const std::vector<std::string> all = {"models", "agents", "tools",   "approval", "mcp",       "a2a",
                                               "place",  "chat",   "budgets", "costs",    "web_search"};
  return all;
}

std::optional<fault> settings_that_do_not_fit(const turn_settings& s) {
  for (auto twice :
       {named_twice(s.models, "models"), named_twice(s.agents, "agents"), named_twice(s.mcp, "mcp]] or [[a2a")})
    if (twice) return twice;
  for (const auto& m : s.models)
    if (auto wrong = model_that_does_not_fit(s, m)) return wrong;
  for (const auto& a : s.agents)
    if (auto wrong = agent_that_does_not_fit(s, a)) return wrong;
  for (const auto& [name, time] : s.timeouts)
    if (const auto why = wrong_tool(s, name); !why.empty())
      return coded_fault{error_code::invalid_field, "[tools.timeouts]: \"" + name + "\" " + why, {}};
  for (const auto& rule : s.approvals)
    if (auto wrong = rule_that_fits_nothing(s, rule)) return wrong;
  for (const auto& rule : s.approvals)
    if (rule.allows && !rule.match.empty() && rule.tool != "exec")
      return coded_fault{error_code::invalid_field,
                         "[[approval]] \"" + rule.tool +
                             "\": match of a rule that allows is for the tool exec alone; leave it out to allow all of "
                             "the tool",
                         {}};
  for (const auto& p : s.chat.places)
    if (auto wrong = place_that_does_not_fit(s, p)) return wrong;
  const auto& speaks = s.chat.acknowledgement_model;
  if (!speaks.empty() && speaks != "none" && !s.model(speaks))
    return coded_fault{error_code::invalid_field,
                       "[chat]: acknowledgement_model \"" + speaks + "\" is no [[models]]; " +
                           instead_of(speaks, names_of(s.models)) + ", and \"none\" means a reaction only",
                       {}};
  return std::nullopt;
}

result<turn_settings> read_turn_settings(const std::string& file,
                                         const std::map<std::string, std::string>& environment) {
  turn_settings s;
  if (!file.empty()) {
    auto read = read_settings_file(file);
    if (!read) return read;
    s = std::move(*read);
  }
  add_what_is_not_named(s);
  auto wrong = settings_that_do_not_fit(s);
  if (!wrong) wrong = take_keys(s, environment);
  if (wrong) return failure(error_code::invalid_field, (file.empty() ? "" : file + ": ") + wrong->detail);
  return s;
}

} // namespace quell::controller::turns
