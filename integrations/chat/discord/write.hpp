// Output to Discord: bodies of messages, answers to interactions, commands. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "integrations/chat/outbox.hpp"

namespace quell::integrations::chat::discord {

/// One request to Discord's REST API; the path is relative to its base address.
struct rest_request {
  std::string method, path, body; ///< `body` "" = none; JSON
  std::string route;              ///< the unit of Discord's rate limits
};

/// The request for `a`; nullopt if there is none (a message that Discord cannot know). `nonce`, at most 25 characters:
/// Discord performs repeated posts with the same nonce only once.
std::optional<rest_request> request_of(const action& a, const std::string& nonce);

/// The registrations of `/ask` and `/stop`; they replace existing commands of the same name.
std::vector<rest_request> commands_of(const std::string& application);
/// Sets the answer of a deferred interaction.
rest_request answer_later(const std::string& application, const std::string& token, const std::string& text);

/// Answers to interactions.
std::string pong();
/// Shown to the asker alone, or to everybody in the channel. Mentions nobody.
std::string private_message(const std::string& text);
std::string public_message(const std::string& text);
/// "The bot is thinking", shown to the asker alone until `answer_later`.
std::string deferred();

/// A person's text, quoted line by line, cut to fit into one message.
std::string quoted(const std::string& who, const std::string& text);

} // namespace quell::integrations::chat::discord
