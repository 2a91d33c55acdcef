// The section [[a2a]].
#include "quelld/settings/a2a_read.hpp"

#include "quelld/settings/settings_read.hpp"

namespace quell::controller::turns {

void read_remote_agent(toml_table& t, turn_settings& s) {
  constexpr std::size_t agent_name_bytes = 32, agent_url_bytes = 2048, source_bytes = 4096;
  mcp_settings m;
  const auto name = t.text("name", source_bytes);
  if (!t.has("name"))
    t.wrong("", "has no name; add name = \"…\"");
  else if (!is_configured_name(name) || name.size() > agent_name_bytes)
    t.wrong("name", "must be 1 to " + std::to_string(agent_name_bytes) + " letters, digits, _ or -");
  t.call_it("[[a2a]] \"" + name + "\"");
  m.name = std::string(remote_agent_prefix) + name;
  m.url = t.text("url", agent_url_bytes);
  m.key_env = t.text("key_env", 256);
  m.key_file = t.text("key_file", source_bytes);
  m.timeout = t.duration("timeout", m.timeout, milliseconds{0});
  t.end();
  if (!m.url.starts_with("http://") && !m.url.starts_with("https://"))
    t.wrong("url", "must begin with http:// or https://, and be the address below which the agent's card is");
  if (!m.key_env.empty() && !m.key_file.empty()) t.wrong("key_file", "stands beside key_env; keep one of them");
  s.mcp.push_back(std::move(m));
}

} // namespace quell::controller::turns
