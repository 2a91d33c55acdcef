// The section [irc].
#include "controller/chat/sections.hpp"
#include "integrations/chat/irc/irc.hpp"
#include "protocol/duration.hpp"

namespace quell::controller::chat {

configured_connector read_irc(section_reader& from) {
  integrations::chat::irc_settings s;
  auto& keys = from.keys;
  auto& lines = from.lines;
  const auto word = [&](const char* key, std::string& value) {
    if (keys.has(key)) value = keys.text(key, 4096);
    lines.text(key, value);
  };
  const auto flag = [&](const char* key, bool& value) {
    value = keys.flag(key, value);
    lines.flag(key, value);
  };
  const auto time = [&](const char* key, milliseconds& value, milliseconds least) {
    value = keys.duration(key, value, least);
    lines.text(key, duration_text(value));
  };
  word("host", s.host);
  flag("tls", s.tls);
  s.port = static_cast<std::uint16_t>(keys.number("port", s.tls ? 6697 : 6667, 1, 65535));
  lines.plain("port", std::to_string(s.port));
  word("tls_ca", s.tls_ca);
  word("tls_cert", s.tls_cert);
  word("tls_key", s.tls_key);
  if (s.tls_cert.empty() != s.tls_key.empty()) keys.wrong("tls_cert", "and tls_key belong together; give both");
  s.network = s.host;
  word("network", s.network);
  word("nick", s.nick);
  word("real_name", s.real_name);
  s.password = from.secret("password", false);
  word("sasl_user", s.sasl_user);
  s.sasl_password = from.secret("sasl_password", !s.sasl_user.empty());
  flag("sasl_external", s.sasl_external);
  if (s.sasl_external && !s.sasl_user.empty())
    keys.wrong("sasl_external", "stands beside sasl_user; keep the one by which the server knows us");
  s.channels = keys.texts("channels", 256, 256 * 64);
  lines.texts("channels", s.channels);
  // By channel, the variables that hold their keys: a key is a secret.
  const auto variables = keys.pairs("channel_keys_env", 256);
  lines.table("channel_keys_env", variables);
  for (const auto& [channel, variable] : variables) {
    const auto found = from.environment.find(variable);
    if (found == from.environment.end() || found->second.empty())
      keys.wrong("channel_keys_env", "names the variable " + variable + ", which is not set; set it for quelld");
    else
      s.keys.emplace(channel, found->second);
  }
  flag("only_addressed", s.only_addressed);
  time("pace", s.pace, milliseconds{0});
  s.burst = keys.number("burst", s.burst, 1, 100);
  lines.plain("burst", std::to_string(s.burst));
  time("silence", s.silence, milliseconds{1000});
  time("rejoin", s.rejoin, milliseconds{100});
  time("retry_first", s.retry_first, milliseconds{10});
  time("retry_most", s.retry_most, milliseconds{10});
  if (const auto why = integrations::chat::wrong_with(s); !why.empty()) keys.wrong("", why);
  return {{}, {}, [s](const connector_tools& tools) {
            auto own = s;
            own.is_cancel = tools.is_cancel;
            own.log = tools.log;
            return integrations::chat::start_irc(std::move(own), tools.at);
          }};
}

} // namespace quell::controller::chat
