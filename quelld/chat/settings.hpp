// The chat services and webhooks in the configuration file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "integrations/chat/webhook/settings.hpp"
#include "quelld/chat/section.hpp"

namespace quell::controller::chat {

struct chat_settings {
  std::vector<configured_connector> connectors;
  std::vector<integrations::chat::incoming_webhook> incoming;
  std::vector<integrations::chat::outgoing_webhook> outgoing;
  std::string text; ///< all of it as TOML, without secrets
};

/// The sections that are read here: slack, discord, telegram, irc, xmpp, webhooks, incoming.
const std::vector<std::string>& chat_sections();

/// Reads these sections of `file` ("" = none), with secrets from `environment` and the files that it names. Fault
/// `invalid_field`: the file, the line, the error; it never contains a secret.
result<chat_settings> read_chat_settings(const std::string& file,
                                         const std::map<std::string, std::string>& environment);

/// Checks that the agents that webhooks name exist and serve their scopes. Fault `invalid_field`.
result<void> check_agents(const chat_settings& chats, const turns::turn_settings& turns);

/// One sentence for each `[[place]]` of a chat service that is not configured, or that hears nobody there.
std::vector<std::string> places_without_service(const chat_settings& chats, const turns::turn_settings& turns);

} // namespace quell::controller::chat
