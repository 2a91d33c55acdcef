// Checks the settings, makes a session, starts a link.
#include "integrations/chat/xmpp/xmpp.hpp"

#include "integrations/chat/service_link.hpp"
#include "integrations/chat/xmpp/session.hpp"

namespace quell::integrations::chat {
namespace {

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

} // namespace

std::string wrong_with(const xmpp_settings& settings) {
  const auto domain = xmpp::read_jid(settings.domain);
  if (!domain || domain->bare.find('@') != std::string::npos || !domain->resource.empty())
    return "needs a domain, the component's own, as in domain = \"bot.example.org\"";
  const auto me = xmpp::read_jid(settings.nick + "@" + domain->bare);
  if (!me || me->bare != settings.nick + "@" + domain->bare)
    return "has a nick that cannot stand before the @: small letters, no blanks";
  if (!settings.tls && !settings.plaintext && !is_this_machine(settings.host))
    return "has a host that is another machine: set tls = true, or plaintext = true if the way there is safe";
  for (const auto& name : settings.rooms) {
    const auto room = xmpp::read_jid(name);
    if (!room || room->bare.find('@') == std::string::npos || !room->resource.empty() ||
        !xmpp::scope_of_jid(room->bare))
      return "has \"" + name + "\" among its rooms, which is not the address of a room, such as dev@rooms.example.org";
  }
  return {};
}

result<std::unique_ptr<connector>> start_xmpp(xmpp_settings settings, host& at) {
  if (auto why = wrong_with(settings); !why.empty()) return failure(error_code::invalid_field, "[xmpp] " + why);
  settings.domain = xmpp::read_jid(settings.domain)->bare;
  std::map<std::string, std::string> passwords;
  for (const auto& [name, password] : settings.room_passwords)
    if (const auto room = xmpp::read_jid(name)) passwords.emplace(room->bare, password);
  settings.room_passwords = std::move(passwords);
  link_settings link;
  link.host = settings.host;
  link.port = settings.port;
  link.tls = settings.tls;
  link.tls_ca = settings.tls_ca;
  link.changes = settings.changes;
  link.retry_first = settings.retry_first;
  link.retry_most = settings.retry_most;
  auto log = settings.log;
  auto remembers = settings.memory;
  return start_linked("xmpp", std::move(link),
                      std::make_unique<xmpp::session>(std::move(settings), message_id::fresh().text()), at,
                      std::move(log), std::move(remembers));
}

} // namespace quell::integrations::chat
