// The section [xmpp].
#include "controller/chat/sections.hpp"
#include "integrations/chat/xmpp/xmpp.hpp"
#include "protocol/duration.hpp"

namespace quell::controller::chat {

configured_connector read_xmpp(section_reader& from) {
  integrations::chat::xmpp_settings s;
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
  s.port = static_cast<std::uint16_t>(keys.number("port", s.port, 1, 65535));
  lines.plain("port", std::to_string(s.port));
  flag("tls", s.tls);
  word("tls_ca", s.tls_ca);
  flag("plaintext", s.plaintext);
  word("domain", s.domain);
  s.secret = from.secret("secret", true);
  word("nick", s.nick);
  s.rooms = keys.texts("rooms", 256, 256 * 1024);
  lines.texts("rooms", s.rooms);
  // By room, the variables that hold their passwords.
  const auto variables = keys.pairs("room_passwords_env", 256);
  lines.table("room_passwords_env", variables);
  for (const auto& [room, variable] : variables) {
    const auto found = from.environment.find(variable);
    if (found == from.environment.end() || found->second.empty())
      keys.wrong("room_passwords_env", "names the variable " + variable + ", which is not set; set it for quelld");
    else
      s.room_passwords.emplace(room, found->second);
  }
  flag("only_addressed", s.only_addressed);
  flag("corrections", s.corrections);
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
            return integrations::chat::start_xmpp(std::move(own), tools.at);
          }};
}

} // namespace quell::controller::chat
