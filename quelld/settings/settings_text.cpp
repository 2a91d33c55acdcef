// Settings as TOML, for `quelld --print-config`. Names of keys, never keys.
#include <charconv>
#include <sstream>

#include "protocol/duration.hpp"
#include "quelld/settings/budget_read.hpp"
#include "quelld/settings/toml_lines.hpp"
#include "quelld/settings/turn_settings.hpp"

namespace quell::controller::turns {
namespace {

/// Lines `key = value`, straight into a stream.
class lines {
 public:
  explicit lines(std::ostream& out) : out_(out) {}
  void text(const char* key, const std::string& value) { put(&toml_lines::text, key, value); }
  void texts(const char* key, const std::vector<std::string>& value) { put(&toml_lines::texts, key, value); }
  void table(const char* key, const std::map<std::string, std::string>& value) { put(&toml_lines::table, key, value); }
  void plain(const char* key, const std::string& value) { put(&toml_lines::plain, key, value); }

 private:
  template <class Value>
  void put(void (toml_lines::*how)(const char*, const Value&), const char* key, const Value& value) {
    toml_lines one;
    (one.*how)(key, value);
    out_ << one.all();
  }
  std::ostream& out_;
};

const char* name_of(integrations::provider p) {
  switch (p) {
  case integrations::provider::scripted:
    return "scripted";
  case integrations::provider::anthropic:
    return "anthropic";
  case integrations::provider::openai:
  case integrations::provider::responses:
    return "openai";
  }
  return "";
}

std::string number_text(double value) {
  char shortest[32] = {};
  std::to_chars(shortest, shortest + sizeof shortest - 1, value);
  return shortest;
}

void print(lines& l, const integrations::answer_settings& a) {
  if (a.temperature) l.plain("temperature", number_text(*a.temperature));
  if (a.top_p) l.plain("top_p", number_text(*a.top_p));
  l.text("tool_choice", a.tool_choice);
  if (a.json) l.text("response_format", "json");
  l.text("response_schema", a.schema);
  if (a.adaptive_thinking)
    l.text("thinking", "adaptive");
  else if (a.thinking_tokens == 0U)
    l.text("thinking", "off");
  else if (a.thinking_tokens)
    l.plain("thinking", std::to_string(*a.thinking_tokens));
  l.text("effort", a.effort);
}

/// The values of headers can be secret: their names alone are printed, as a comment.
void print_headers(std::ostream& out, const integrations::model_settings& m, const key_source& key) {
  std::string names;
  for (const auto& [name, value] : m.headers)
    if (!key.headers_env.contains(name)) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) out << "# headers (values are not printed): " << names << "\n";
}

void print_prices(lines& l, const integrations::token_prices& p) {
  if (!p.any()) return;
  std::string text = "{ input = " + number_text(p.input) + ", output = " + number_text(p.output);
  if (p.cached) text += ", cached = " + number_text(*p.cached);
  if (p.written) text += ", written = " + number_text(*p.written);
  l.plain("price", text + " }");
}

void print(std::ostream& out, const integrations::model_settings& m, const key_source& key) {
  out << "\n[[models]]\n";
  lines l(out);
  l.text("name", m.name);
  l.text("provider", name_of(m.provider));
  if (m.provider == integrations::provider::responses) l.text("api", "responses");
  l.text("model", m.model);
  l.text("base_url", m.base_url);
  l.text("key_env", key.env);
  l.text("key_file", key.file);
  l.plain("max_tokens", std::to_string(m.max_tokens));
  l.plain("context", std::to_string(m.context));
  l.plain("retries", std::to_string(m.retries));
  l.text("timeout", duration_text(m.whole_timeout));
  l.text("first_event_timeout", duration_text(m.first_event_timeout));
  l.text("idle_timeout", duration_text(m.idle_timeout));
  print(l, m.answer);
  if (m.provider == integrations::provider::anthropic) l.plain("prompt_cache", m.prompt_cache ? "true" : "false");
  if (!m.images) l.plain("images", "false");
  if (!m.documents) l.plain("documents", "false");
  print_headers(out, m, key);
  l.table("headers_env", key.headers_env);
  if (m.concurrency > 0) l.plain("concurrency", std::to_string(m.concurrency));
  if (m.rate > 0) l.plain("rate", std::to_string(m.rate));
  if (m.concurrency > 0 || m.rate > 0) l.text("queue_timeout", duration_text(m.queue_timeout));
  print_prices(l, m.prices);
  l.texts("fallback", m.fallback);
}

void print(std::ostream& out, const agent_settings& a) {
  out << "\n[[agents]]\n";
  lines l(out);
  l.text("name", a.name);
  std::vector<std::string> scopes;
  for (const auto& s : a.scopes) scopes.push_back(s.text());
  if (a.is_only_spawned || !scopes.empty()) l.plain("scopes", toml_list(scopes));
  l.text("model", a.model);
  l.texts("models", a.models);
  l.text("instructions", a.instructions);
  if (a.tools) l.plain("tools", toml_list(*a.tools));
  l.text("workspace", a.workspace.value_or(""));
  // A mode that nobody chose is left out: what is read back is then the same, also for sub-agents.
  if (a.mode != workspace_mode::shared) {
    if (a.chooses_workspace) l.text("workspace_mode", a.mode == workspace_mode::per_turn ? "per-turn" : "per-scope");
    l.text("workspace_quota", std::to_string(a.workspace_quota));
    l.text("workspace_retention", duration_text(a.workspace_retention));
  } else if (!a.workspace) {
    l.text("workspace_mode", "shared");
  }
  if (!a.reads_agents_md) l.plain("read_agents_md", "false");
  l.table("on", a.on);
  l.text("worker", a.worker.value_or(""));
  l.text("user", a.user.value_or(""));
  l.texts("may_spawn", a.may_spawn);
  l.plain("budget", agent_budget_text(a.budget));
  if (!a.is_command() && a.repetition != actors::repetition_limits{})
    l.plain("repetition", repetition_text(a.repetition));
  print(l, a.answer);
  if (a.exec_timeout) l.text("exec_timeout", duration_text(*a.exec_timeout));
  if (a.exec_timeout_max.count() > 0) l.text("exec_timeout_max", duration_text(a.exec_timeout_max));
  if (a.during_turn != "queue") l.text("during_turn", a.during_turn);
  l.texts("command", a.command);
  if (a.acp) l.plain("acp", "true");
}

void print_remote_agent(std::ostream& out, const mcp_settings& m) {
  out << "\n[[a2a]]\n";
  lines l(out);
  l.text("name", m.name.substr(remote_agent_prefix.size()));
  l.text("url", m.url);
  l.text("key_env", m.key_env);
  l.text("key_file", m.key_file);
  l.text("timeout", duration_text(m.timeout));
}

void print(std::ostream& out, const mcp_settings& m) {
  if (is_remote_agent(m.name)) return print_remote_agent(out, m);
  out << "\n[[mcp]]\n";
  lines l(out);
  l.text("name", m.name);
  l.texts("command", m.command);
  l.text("url", m.url);
  l.text("worker", m.worker.value_or(""));
  l.text("user", m.user.value_or(""));
  l.table("on", m.on);
  l.table("env", m.env);
  l.text("key_env", m.key_env);
  l.text("client_id", m.client_id);
  l.text("client_secret_env", m.client_secret_env);
  l.text("client_metadata_url", m.client_metadata_url);
  if (!m.command.empty()) l.text("per", m.per_turn ? "turn" : "cluster");
}

void print(std::ostream& out, const place_settings& p) {
  out << "\n[[place]]\n";
  lines l(out);
  l.text("scope", p.scope.text());
  l.texts("bot_names", p.bot_names);
  l.texts("cancel_words", p.words.words);
  l.texts("lead_ins", p.words.lead_ins);
  l.texts("followers", p.words.followers);
  if (p.approvers) l.plain("approvers", toml_list(*p.approvers));
  if (p.approve_own) l.plain("approve_own", *p.approve_own ? "true" : "false");
  l.texts("agents", p.agents);
  if (p.channels) l.plain("channels", toml_list(*p.channels));
  if (const auto budget = place_budget_text(p.budget); !budget.empty()) l.plain("budget", budget);
  if (p.slots > 0) l.plain("slots", std::to_string(p.slots));
}

} // namespace

std::string turn_settings_text(const turn_settings& s) {
  std::ostringstream out;
  for (const auto& m : s.models) {
    const auto key = s.keys.find(m.name);
    print(out, m, key == s.keys.end() ? key_source{} : key->second);
  }
  for (const auto& a : s.agents) print(out, a);
  if (!s.timeouts.empty()) out << "\n[tools.timeouts]\n";
  for (const auto& [name, time] : s.timeouts)
    out << toml_quoted(name) << " = " << toml_quoted(duration_text(time)) << "\n";
  for (const auto& r : s.approvals) {
    out << "\n[[approval]]\n";
    lines l(out);
    l.text("tool", r.tool);
    l.text("match", r.match);
    l.text("action", r.denies ? "deny" : r.allows ? "allow" : "ask");
    if (!r.denies && !r.allows) l.text("timeout", duration_text(r.timeout)); // 0: it waits for ever
  }
  for (const auto& m : s.mcp) print(out, m);
  if (const auto& w = s.web_search; w.by != integrations::search_settings::provider::none) {
    out << "\n[web_search]\n";
    lines l(out);
    l.text("provider", integrations::name_of(w.by));
    l.text("url", w.url);
    l.text("key_file", w.key_file);
  }
  for (const auto& p : s.chat.places) print(out, p);
  out << costs_text(s.costs);
  out << "\n[chat]\n";
  lines l(out);
  l.plain("bot_names", toml_list(s.chat.bot_names));
  l.plain("cancel_words", toml_list(s.chat.words.words));
  l.plain("lead_ins", toml_list(s.chat.words.lead_ins));
  l.plain("followers", toml_list(s.chat.words.followers));
  l.plain("acknowledgement_model", toml_quoted(s.chat.acknowledgement_model));
  char shortest[32] = {};
  std::to_chars(shortest, shortest + sizeof shortest - 1, s.chat.confidence);
  l.plain("confidence", shortest);
  l.plain("approvers", toml_list(s.chat.approvers));
  l.plain("approve_own", s.chat.approve_own ? "true" : "false");
  l.plain("default_agent_asks", s.chat.default_agent_asks ? "true" : "false");
  return out.str();
}

} // namespace quell::controller::turns
