// Settings as TOML, for `quelld --print-config`. Names of keys, never keys.
#include <sstream>

#include "controller/turns/settings.hpp"
#include "protocol/duration.hpp"

namespace quell::controller::turns {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const auto& t : texts) out += (out.size() == 1 ? "" : ", ") + quoted(t);
  return out + "]";
}

std::string pairs(const std::map<std::string, std::string>& all) {
  std::string out = "{";
  for (const auto& [key, value] : all) out += (out.size() == 1 ? " " : ", ") + quoted(key) + " = " + quoted(value);
  return out + " }";
}

/// Lines `key = value`; what is at its default is left out.
class lines {
 public:
  explicit lines(std::ostream& out) : out_(out) {}
  void text(const char* key, const std::string& value) {
    if (!value.empty()) out_ << key << " = " << quoted(value) << "\n";
  }
  void texts(const char* key, const std::vector<std::string>& value) {
    if (!value.empty()) out_ << key << " = " << list(value) << "\n";
  }
  void table(const char* key, const std::map<std::string, std::string>& value) {
    if (!value.empty()) out_ << key << " = " << pairs(value) << "\n";
  }
  void plain(const char* key, const std::string& value) { out_ << key << " = " << value << "\n"; }

 private:
  std::ostream& out_;
};

const char* name_of(integrations::provider p) {
  switch (p) {
  case integrations::provider::scripted:
    return "scripted";
  case integrations::provider::anthropic:
    return "anthropic";
  case integrations::provider::openai:
    return "openai";
  }
  return "";
}

void print(std::ostream& out, const integrations::model_settings& m, const key_source& key) {
  out << "\n[[models]]\n";
  lines l(out);
  l.text("name", m.name);
  l.text("provider", name_of(m.provider));
  l.text("model", m.model);
  l.text("base_url", m.base_url);
  l.text("key_env", key.env);
  l.text("key_file", key.file);
  l.plain("max_tokens", std::to_string(m.max_tokens));
  l.plain("retries", std::to_string(m.retries));
  l.text("timeout", duration_text(m.whole_timeout));
}

void print(std::ostream& out, const agent_settings& a) {
  out << "\n[[agents]]\n";
  lines l(out);
  l.text("name", a.name);
  std::vector<std::string> scopes;
  for (const auto& s : a.scopes) scopes.push_back(s.text());
  l.texts("scopes", scopes);
  l.text("model", a.model);
  l.text("instructions", a.instructions);
  if (a.tools) l.plain("tools", list(*a.tools));
  l.text("workspace", a.workspace.value_or(""));
  l.table("on", a.on);
  l.text("worker", a.worker.value_or(""));
  l.plain("budget", "{ model_calls = " + std::to_string(a.budget.model_calls) +
                        ", depth = " + std::to_string(a.budget.depth) + ", width = " + std::to_string(a.budget.width) +
                        ", timeout = " + quoted(duration_text(a.budget.timeout)) + " }");
  l.texts("command", a.command);
  if (a.acp) l.plain("acp", "true");
}

void print(std::ostream& out, const mcp_settings& m) {
  out << "\n[[mcp]]\n";
  lines l(out);
  l.text("name", m.name);
  l.texts("command", m.command);
  l.text("url", m.url);
  l.text("worker", m.worker.value_or(""));
  l.table("on", m.on);
  l.table("env", m.env);
  l.text("key_env", m.key_env);
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
  for (const auto& [name, time] : s.timeouts) out << quoted(name) << " = " << quoted(duration_text(time)) << "\n";
  for (const auto& r : s.approvals) {
    out << "\n[[approval]]\n";
    lines l(out);
    l.text("tool", r.tool);
    l.text("match", r.match);
  }
  for (const auto& m : s.mcp) print(out, m);
  return out.str();
}

} // namespace quell::controller::turns
