// TOML to values, section by section.
#include "quelld/settings/settings_read.hpp"

#include <algorithm>
#include <filesystem>

#include "actors/turns/approvers.hpp"
#include "actors/turns/word_languages.hpp"
#include "protocol/duration.hpp"
#include "protocol/nearest.hpp"
#include "protocol/user_name.hpp"
#include "quelld/settings/a2a_read.hpp"
#include "quelld/settings/budget_read.hpp"
#include "quelld/settings/model_read.hpp"
#include "quelld/settings/toml_file.hpp"
#include "quelld/settings/toml_table.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t most_file_bytes = 4 << 20, most_models = 64, most_agents = 4096, most_rules = 256,
                      most_servers = 32, most_places = 4096, most_timeouts = 256, most_scopes = 64, most_tools = 128,
                      most_labels = 64, most_variables = 64, most_arguments = 256, most_budgets = 4096;
constexpr std::size_t name_bytes = 64, server_name_bytes = 32, path_bytes = 4096, url_bytes = 2048,
                      command_bytes = 128 << 10, instruction_bytes = 64 << 10, match_bytes = 512, phrase_bytes = 128,
                      most_phrases = 512, most_languages = 16, most_approvers = 1024, most_place_agents = 64,
                      most_channels = 1024;

std::string name_of(toml_table& t, const std::string& section, std::size_t most = name_bytes) {
  const auto name = t.text("name", 4096);
  if (!t.has("name")) {
    t.wrong("", "has no name; add name = \"…\"");
  } else if (!is_configured_name(name) || name.size() > most) {
    t.wrong("name", "must be 1 to " + std::to_string(most) + " letters, digits, _ or -");
  }
  t.call_it(section + " \"" + name + "\"");
  return name;
}

std::map<std::string, std::string> labels_of(toml_table& t) {
  auto labels = t.pairs("on", most_labels);
  for (const auto& [key, value] : labels)
    if (key.size() > 128 || value.empty() || value.size() > 128)
      t.wrong("on", "needs keys and values of 1 to 128 bytes (at " + key.substr(0, 128) + ")");
  return labels;
}

std::optional<std::string> worker_of(toml_table& t) {
  auto worker = t.text_if("worker", 128);
  if (worker && worker->empty()) t.wrong("worker", "must be the name of a worker, or be left out");
  return worker;
}

std::optional<std::string> user_of(toml_table& t) {
  auto user = t.text_if("user", 32);
  if (user && !is_user_name(*user)) t.wrong("user", "must be the name of a user on the worker, or be left out");
  return user;
}

std::vector<std::string> command_of(toml_table& t) {
  auto command = t.texts("command", most_arguments, command_bytes);
  if (t.has("command") && (command.empty() || command[0].empty()))
    t.wrong("command", "must name a program, as in [\"program\", \"argument\"]");
  return command;
}

void read_model(toml_table& t, turn_settings& s, file_trouble& trouble) {
  integrations::model_settings m;
  key_source key;
  m.name = name_of(t, "[[models]]");
  m.model = t.text("model", 256);
  m.base_url = t.text("base_url", path_bytes);
  key.env = t.text("key_env", 256);
  key.file = t.text("key_file", path_bytes);
  if (!key.env.empty() && !key.file.empty()) t.wrong("key_file", "stands beside key_env; keep one of them");
  read_model_settings(t, "[[models]] \"" + m.name + "\"", m, key, trouble);
  t.end();
  if (!key.env.empty() || !key.file.empty() || !key.headers_env.empty()) s.keys.emplace(m.name, key);
  s.models.push_back(std::move(m));
}

/// After `workspace`.
void read_workspace(toml_table& t, agent_settings& a) {
  const auto mode = t.text("workspace_mode", name_bytes);
  const auto quota = t.text("workspace_quota", name_bytes);
  const auto retention = t.duration("workspace_retention", a.workspace_retention, milliseconds{0});
  a.chooses_workspace = a.workspace || t.has("workspace_mode");
  a.mode = a.workspace ? workspace_mode::shared : workspace_mode::per_scope;
  if (mode == "shared")
    a.mode = workspace_mode::shared;
  else if (mode == "per-turn")
    a.mode = workspace_mode::per_turn;
  else if (t.has("workspace_mode") && mode != "per-scope")
    t.wrong("workspace_mode", "must be per-scope, per-turn or shared");
  if (t.has("workspace_mode") && mode != "shared" && a.workspace)
    t.wrong("workspace_mode", "stands beside workspace, which all conversations share; keep one of them");
  for (const char* key : {"workspace_quota", "workspace_retention"})
    if (t.has(key) && a.mode == workspace_mode::shared)
      t.wrong(key, "is for a workspace of a conversation or a turn; this agent's is shared");
  if (const auto bytes = parse_size(quota); bytes)
    a.workspace_quota = *bytes;
  else if (t.has("workspace_quota"))
    t.wrong("workspace_quota", "must be a size such as \"1GiB\", or \"0\" for none");
  a.workspace_retention = retention;
}

void read_agent(toml_table& t, turn_settings& s, file_trouble& trouble) {
  agent_settings a;
  a.name = name_of(t, "[[agents]]");
  for (const auto& text : t.texts("scopes", most_scopes, most_scopes * 513)) {
    if (auto scope = scope_path::parse(text); scope) {
      a.scopes.push_back(*scope);
    } else {
      t.wrong("scopes", "has \"" + text + "\", which is not a scope: " + scope.error().detail);
    }
  }
  a.is_only_spawned = t.has("scopes") && a.scopes.empty();
  a.model = t.text("model", name_bytes);
  a.models = t.texts("models", most_models, most_models * name_bytes);
  a.instructions = t.text("instructions", instruction_bytes);
  auto tools = t.texts("tools", most_tools, most_tools * 128);
  if (t.has("tools")) a.tools = std::move(tools);
  a.workspace = t.text_if("workspace", path_bytes);
  if (a.workspace && !a.workspace->starts_with('/'))
    t.wrong("workspace", "must be an absolute path on the worker, such as \"/srv/work\"");
  read_workspace(t, a);
  a.reads_agents_md = t.flag("read_agents_md", a.reads_agents_md);
  a.on = labels_of(t);
  a.worker = worker_of(t);
  a.user = user_of(t);
  a.may_spawn = t.texts("may_spawn", most_agents, most_agents * name_bytes);
  const std::string place = "[[agents]] \"" + a.name + "\"";
  a.budget = read_agent_budget(t, place, trouble);
  a.repetition = read_repetition(t, place, trouble);
  a.answer = read_answer_settings(t);
  const auto exec_timeout = t.duration("exec_timeout", milliseconds{0}, milliseconds{0});
  if (t.has("exec_timeout")) a.exec_timeout = exec_timeout;
  a.exec_timeout_max = t.duration("exec_timeout_max", milliseconds{0}, milliseconds{0});
  const auto most = a.exec_timeout_max;
  if (most.count() > 0 && a.exec_timeout && (a.exec_timeout->count() == 0 || *a.exec_timeout > most))
    t.wrong("exec_timeout", "must be between 1ms and exec_timeout_max, which is " + duration_text(most));
  a.during_turn = t.text("during_turn", name_bytes);
  if (a.during_turn.empty()) a.during_turn = "queue";
  if (a.during_turn != "queue" && a.during_turn != "steer" && a.during_turn != "supersede")
    t.wrong("during_turn", "must be queue, steer or supersede");
  a.command = command_of(t);
  a.acp = t.flag("acp", false);
  t.end();
  if (a.acp && a.command.empty()) t.wrong("acp", "needs `command`: the program that speaks ACP over stdio");
  for (const char* key : {"model", "models", "instructions", "tools", "may_spawn", "temperature", "top_p",
                          "tool_choice", "response_format", "response_schema", "thinking", "effort", "exec_timeout",
                          "exec_timeout_max", "repetition", "during_turn", "read_agents_md"})
    if (!a.command.empty() && t.has(key))
      t.wrong(key, "means nothing to an agent that is a command; give it in its arguments");
  s.agents.push_back(std::move(a));
}

void read_rule(toml_table& t, turn_settings& s) {
  approval_rule r;
  r.tool = t.text("tool", 256);
  if (r.tool.empty()) t.wrong("tool", "must name a tool, or be a glob such as \"mcp__files__*\" or \"*\"");
  r.match = t.text("match", match_bytes);
  const auto action = t.text("action", 16);
  r.denies = action == "deny";
  r.allows = action == "allow";
  if (!action.empty() && action != "ask" && !r.denies && !r.allows) t.wrong("action", "must be ask, deny or allow");
  r.timeout = t.duration("timeout", milliseconds{0}, milliseconds{0});
  if ((r.denies || r.allows) && r.timeout.count() > 0) t.wrong("timeout", "is for a rule that asks");
  if (t.has("match") && r.match.empty()) t.wrong("match", "must not be empty; leave it out to ask always");
  t.end();
  s.approvals.push_back(std::move(r));
}

void read_server(toml_table& t, turn_settings& s) {
  mcp_settings m;
  m.name = name_of(t, "[[mcp]]", server_name_bytes);
  m.command = command_of(t);
  m.url = t.text("url", url_bytes);
  m.worker = worker_of(t);
  m.user = user_of(t);
  m.on = labels_of(t);
  m.env = t.pairs("env", most_variables);
  m.key_env = t.text("key_env", 256);
  m.client_id = t.text("client_id", url_bytes);
  m.client_secret_env = t.text("client_secret_env", 256);
  m.client_metadata_url = t.text("client_metadata_url", url_bytes);
  const auto per = t.text("per", name_bytes);
  m.per_turn = per == "turn";
  t.end();
  if (t.has("per") && per != "turn" && per != "cluster") t.wrong("per", "must be cluster (all turns share it) or turn");
  if (m.per_turn && m.command.empty()) t.wrong("per", "is for a server with `command`; what a url serves is shared");
  if (m.command.empty() == m.url.empty()) t.wrong("", "needs either `command` (stdio) or `url` (streamable HTTP)");
  if (!m.url.empty() && !m.url.starts_with("http://") && !m.url.starts_with("https://"))
    t.wrong("url", "must begin with http:// or https://");
  if (!m.url.empty() && !m.env.empty()) t.wrong("env", "is for a server with `command`; a url has no environment");
  if (!m.url.empty() && m.user) t.wrong("user", "is for a server with `command`; a url is not a process of ours");
  if (m.url.empty() && !m.key_env.empty()) t.wrong("key_env", "is for a server with `url`; a command has `env`");
  for (const char* key : {"client_id", "client_secret_env", "client_metadata_url"}) {
    if (t.has(key) && m.url.empty()) t.wrong(key, "is for a server with `url`: only there one logs in");
    if (t.has(key) && !m.key_env.empty()) t.wrong(key, "stands beside key_env, with which nobody logs in; keep one");
  }
  if (!m.client_secret_env.empty() && m.client_id.empty()) t.wrong("client_secret_env", "needs `client_id`");
  if (!m.client_metadata_url.empty() && !m.client_metadata_url.starts_with("https://"))
    t.wrong("client_metadata_url", "must begin with https://");
  for (const auto& [name, value] : m.env)
    if (name.find('=') != std::string::npos) t.wrong("env", "has a name with = in it: " + name);
  s.mcp.push_back(std::move(m));
}

void read_web_search(const toml::table& table, turn_settings& s, file_trouble& trouble) {
  using provider = integrations::search_settings::provider;
  toml_table t(table, "[web_search]", trouble);
  auto& w = s.web_search;
  w.by = integrations::search_provider_named(t.text("provider", name_bytes));
  w.url = t.text("url", url_bytes);
  w.key_file = t.text("key_file", path_bytes);
  t.end();
  if (w.by == provider::none) t.wrong("provider", "must be searxng, brave or tavily");
  if (w.by == provider::searxng && w.url.empty()) t.wrong("url", "must be the address of your SearXNG");
  if (!w.url.empty() && !w.url.starts_with("http://") && !w.url.starts_with("https://"))
    t.wrong("url", "must begin with http:// or https://");
  if (w.url.find_first_of(" \r\n\t?#@") != std::string::npos)
    t.wrong("url", "must be a plain address without a query, a user or white space");
  if ((w.by == provider::brave || w.by == provider::tavily) && w.key_file.empty())
    t.wrong("key_file", "must name a file that holds the provider's key");
}

void read_timeouts(const toml::table& table, turn_settings& s, file_trouble& trouble) {
  toml_table tools(table, "[tools]", trouble);
  const auto* times = tools.table("timeouts");
  tools.end();
  if (!times) return;
  if (times->size() > most_timeouts)
    trouble.say(times->source().begin.line,
                "[tools.timeouts] has more than " + std::to_string(most_timeouts) + " entries");
  toml_table t(*times, "[tools.timeouts]", trouble);
  for (const auto& [name, value] : *times) {
    const std::string key(name.str());
    s.timeouts.emplace(key, t.duration(key.c_str(), milliseconds{0}, milliseconds{0}));
  }
}

/// Reads the names of the bot and the words that both `[chat]` and `[[place]]` have. Languages become their words,
/// which are printed.
void read_words(toml_table& t, std::vector<std::string>& bot_names, chat::vocabulary& words) {
  const auto phrases = [&](const char* key) {
    auto all = t.texts(key, most_phrases, most_phrases * phrase_bytes);
    for (const auto& p : all)
      if (p.find_first_not_of(" \t,") == std::string::npos || p.size() > phrase_bytes)
        t.wrong(key, "needs words of 1 to " + std::to_string(phrase_bytes) + " bytes each");
    return all;
  };
  bot_names = phrases("bot_names");
  words.words = phrases("cancel_words");
  words.lead_ins = phrases("lead_ins");
  words.followers = phrases("followers");
  for (const auto& code : t.texts("languages", most_languages, most_languages * 8))
    if (const auto* known = chat::words_of_language(code)) {
      const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
        for (const auto& one : more)
          if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
      };
      add(words.words, known->words);
      add(words.lead_ins, known->lead_ins);
      add(words.followers, known->followers);
    } else {
      t.wrong("languages", "has \"" + code + "\"; known are " + listed(chat::known_languages()) +
                               ". Write the words of others in cancel_words");
    }
}

std::vector<std::string> read_approvers(toml_table& t) {
  auto all = t.texts("approvers", most_approvers, most_approvers * phrase_bytes);
  for (const auto& one : all)
    if (const auto why = wrong_approver(one); !why.empty()) t.wrong("approvers", "has \"" + one + "\", which " + why);
  return all;
}

/// Segments directly below the place.
std::vector<std::string> read_channels(toml_table& t, const scope_path& place) {
  auto all = t.texts("channels", most_channels, most_channels * 128);
  for (const auto& one : all)
    if (one.find('/') != std::string::npos || !scope_path::parse(place.text() + "/" + one))
      t.wrong("channels", "has \"" + one + "\", which is not one segment of a scope below it");
  return all;
}

void read_place(toml_table& t, turn_settings& s, file_trouble& trouble) {
  place_settings p;
  const auto text = t.text("scope", 512);
  const auto scope = scope_path::parse(text);
  if (!scope)
    return t.wrong("scope", "must be the scope of a place, such as \"discord/GUILD\": " + scope.error().detail);
  p.scope = *scope;
  t.call_it("[[place]] \"" + text + "\"");
  if (s.chat.places.find(text)) t.wrong("scope", "has two [[place]]: write one");
  read_words(t, p.bot_names, p.words);
  if (t.has("approvers")) p.approvers = read_approvers(t);
  const auto is_token = [](const std::string& one) { return one.starts_with("token:"); };
  if (p.approvers && std::any_of(p.approvers->begin(), p.approvers->end(), is_token))
    t.wrong("approvers", "names a token: tokens are limited by their own scope, so name it in [chat]");
  if (t.has("approve_own")) p.approve_own = t.flag("approve_own", false);
  p.agents = t.texts("agents", most_place_agents, most_place_agents * name_bytes);
  if (t.has("agents") && p.agents.empty())
    t.wrong("agents", "names none: leave it out, or close it with channels = []");
  if (t.has("channels")) p.channels = read_channels(t, p.scope);
  read_place_limits(t, p, trouble);
  t.end();
  s.chat.places.push_back(std::move(p));
}

void read_chat(const toml::table& table, turn_settings& s, file_trouble& trouble) {
  toml_table t(table, "[chat]", trouble);
  read_words(t, s.chat.bot_names, s.chat.words);
  s.chat.acknowledgement_model = t.text("acknowledgement_model", name_bytes);
  s.chat.confidence = t.fraction("confidence", s.chat.confidence);
  s.chat.approvers = read_approvers(t);
  s.chat.approve_own = t.flag("approve_own", s.chat.approve_own);
  s.chat.default_agent_asks = t.flag("default_agent_asks", s.chat.default_agent_asks);
  t.end();
}

/// Calls `read` for each table of `[[section]]`.
template <class Read>
void each(const toml::table& root, const std::string& section, std::size_t most, file_trouble& trouble, Read read) {
  const auto* node = root.get(section);
  if (!node) return;
  const auto* list = node->as_array();
  const auto line = node->source().begin.line;
  if (!list || !std::all_of(list->begin(), list->end(), [](const toml::node& n) { return n.is_table(); }))
    return trouble.say(line, section + " must be a list of tables: write [[" + section + "]] with two brackets");
  if (list->size() > most)
    return trouble.say(line, "there are " + std::to_string(list->size()) + " [[" + section + "]]; at most " +
                                 std::to_string(most) + " are taken");
  for (std::size_t i = 0; i < list->size(); ++i) {
    toml_table t(*(*list)[i].as_table(), "[[" + section + "]] number " + std::to_string(i + 1), trouble);
    read(t);
  }
}

result<toml::table> parsed_file(const std::string& file) {
  if (std::error_code error; std::filesystem::file_size(file, error) > most_file_bytes && !error)
    return failure(error_code::invalid_field, file + ": a configuration has at most 4 MiB");
  return parse_toml_file(file);
}

} // namespace

bool is_configured_name(const std::string& name) {
  return !name.empty() && name.size() <= name_bytes &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string::npos;
}

result<turn_settings> read_settings_file(const std::string& file) {
  const auto root = parsed_file(file);
  if (!root) return tl::unexpected(root.error());
  file_trouble trouble(file);
  turn_settings s;
  each(*root, "models", most_models, trouble, [&](toml_table& t) { read_model(t, s, trouble); });
  each(*root, "agents", most_agents, trouble, [&](toml_table& t) { read_agent(t, s, trouble); });
  each(*root, "approval", most_rules, trouble, [&](toml_table& t) { read_rule(t, s); });
  each(*root, "mcp", most_servers, trouble, [&](toml_table& t) { read_server(t, s); });
  each(*root, "a2a", most_servers, trouble, [&](toml_table& t) { read_remote_agent(t, s); });
  each(*root, "budgets", most_budgets, trouble, [&](toml_table& t) { read_day_budget(t, s.costs); });
  if (const auto* costs = root->get("costs")) {
    if (const auto* table = costs->as_table()) {
      toml_table t(*table, "[costs]", trouble);
      read_costs(t, s.costs);
    } else {
      trouble.say(costs->source().begin.line, "costs must be a table: write [costs]");
    }
  }
  each(*root, "place", most_places, trouble, [&](toml_table& t) { read_place(t, s, trouble); });
  if (const auto* tools = root->get("tools")) {
    if (const auto* table = tools->as_table()) {
      read_timeouts(*table, s, trouble);
    } else {
      trouble.say(tools->source().begin.line, "tools must be a table: write [tools.timeouts]");
    }
  }
  if (const auto* search = root->get("web_search")) {
    if (const auto* table = search->as_table()) {
      read_web_search(*table, s, trouble);
    } else {
      trouble.say(search->source().begin.line, "web_search must be a table: write [web_search]");
    }
  }
  if (const auto* chat = root->get("chat")) {
    if (const auto* table = chat->as_table()) {
      read_chat(*table, s, trouble);
    } else {
      trouble.say(chat->source().begin.line, "chat must be a table: write [chat]");
    }
  }
  if (trouble.first()) return tl::unexpected(*trouble.first());
  return s;
}

} // namespace quell::controller::turns
