// The section [xmpp].
#include "integrations/chat/xmpp/xmpp.hpp"
#include "quelld/chat/sections.hpp"

namespace quell::controller::chat {

configured_connector read_xmpp(section_reader& from) {
  integrations::chat::xmpp_settings s;
  auto& keys = from.keys;
  from.text("host", s.host);
  from.number("port", s.port, 1, 65535);
  from.flag("tls", s.tls);
  from.text("tls_ca", s.tls_ca);
  from.flag("plaintext", s.plaintext);
  from.text("domain", s.domain);
  s.secret = from.secret("secret", section_reader::need::required);
  from.text("nick", s.nick);
  from.texts("rooms", s.rooms, 256, 256 * 1024);
  from.texts("users", s.users, 4096, 4096 * 1024);
  // By room, the variables that hold their passwords.
  s.room_passwords = from.secrets("room_passwords_env", 256);
  from.flag("only_addressed", s.only_addressed);
  from.flag("corrections", s.corrections);
  s.changes = from.changes(section_reader::reported::edits_and_deletions);
  read_pace_and_timeouts(from, s);
  if (const auto why = integrations::chat::wrong_with(s); !why.empty()) keys.wrong("", why);
  return connected_by(std::move(s), integrations::chat::start_xmpp);
}

} // namespace quell::controller::chat
