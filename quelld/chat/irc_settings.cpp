// The section [irc].
#include "integrations/chat/irc/irc.hpp"
#include "quelld/chat/sections.hpp"

namespace quell::controller::chat {

configured_connector read_irc(section_reader& from) {
  integrations::chat::irc_settings s;
  auto& keys = from.keys;
  from.text("host", s.host);
  from.flag("tls", s.tls);
  s.port = s.tls ? 6697 : 6667;
  from.number("port", s.port, 1, 65535);
  from.text("tls_ca", s.tls_ca);
  from.text("tls_cert", s.tls_cert);
  from.text("tls_key", s.tls_key);
  if (s.tls_cert.empty() != s.tls_key.empty()) keys.wrong("tls_cert", "and tls_key belong together; give both");
  s.network = s.host;
  from.text("network", s.network);
  from.text("nick", s.nick);
  from.text("real_name", s.real_name);
  s.password = from.secret("password", section_reader::need::optional);
  from.text("sasl_user", s.sasl_user);
  s.sasl_password = from.secret("sasl_password",
                                s.sasl_user.empty() ? section_reader::need::optional : section_reader::need::required);
  from.flag("sasl_external", s.sasl_external);
  if (s.sasl_external && !s.sasl_user.empty())
    keys.wrong("sasl_external", "stands beside sasl_user; keep the one by which the server knows us");
  from.texts("channels", s.channels, 256, 256 * 64);
  from.texts("users", s.users, 4096, 4096 * 64);
  // By channel, the variables that hold the channel keys, which are secrets.
  s.keys = from.secrets("channel_keys_env", 256);
  from.flag("only_addressed", s.only_addressed);
  read_pace_and_timeouts(from, s);
  if (const auto why = integrations::chat::wrong_with(s); !why.empty()) keys.wrong("", why);
  return connected_by(std::move(s), integrations::chat::start_irc);
}

} // namespace quell::controller::chat
