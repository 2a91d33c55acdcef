// Checks the settings, makes a session, starts a link.
#include "integrations/chat/irc/irc.hpp"

#include "integrations/chat/irc/session.hpp"
#include "integrations/chat/service_link.hpp"

namespace quell::integrations::chat {

std::string wrong_with(const irc_settings& settings) {
  if (settings.host.empty()) return "has no host: name the server, as in host = \"irc.example.org\"";
  if (!irc::is_sendable(settings.nick)) return "has a nick that is none: one word without blanks";
  for (const auto& name : settings.channels)
    if (!irc::is_sendable(name)) return "has \"" + name + "\" among its channels, which is not a channel's name";
  for (const auto& [name, key] : settings.keys)
    if (!irc::is_sendable(key)) return "has a key for " + name + " with blanks or commas in it";
  if (settings.sasl_external && (settings.tls_cert.empty() || !settings.tls))
    return "has sasl_external, which needs TLS with tls_cert and tls_key: the server knows us by them";
  if (!irc::scope_of_target(settings.network.empty() ? settings.host : settings.network, "#", {}))
    return "has a network that is too long for a scope";
  return {};
}

result<std::unique_ptr<connector>> start_irc(irc_settings settings, host& at) {
  if (auto why = wrong_with(settings); !why.empty()) return failure(error_code::invalid_field, "[irc] " + why);
  link_settings link;
  link.host = settings.host;
  link.port = settings.port;
  link.tls = settings.tls;
  link.tls_ca = settings.tls_ca;
  link.tls_cert = settings.tls_cert;
  link.tls_key = settings.tls_key;
  link.retry_first = settings.retry_first;
  link.retry_most = settings.retry_most;
  auto log = settings.log;
  auto remembers = settings.memory;
  return start_linked("irc", std::move(link), std::make_unique<irc::session>(std::move(settings)), at, std::move(log),
                      std::move(remembers));
}

} // namespace quell::integrations::chat
