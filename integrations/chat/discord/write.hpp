// What Discord is told: bodies of messages, answers to interactions, commands. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "integrations/chat/outbox.hpp"

namespace quell::integrations::chat::discord {

/// One request to Discord's REST API, below its base address.
struct rest_request {
  std::string method, path, body; ///< `body` "" = none; JSON
  std::string route;              ///< what Discord counts together for its rate limits
};

/// The request for `a`; nullopt if it cannot be one (a message that Discord cannot know). `nonce`, at most 25
/// characters: a post that comes twice with the same one is done once.
std::optional<rest_request> request_of(const action& a, const std::string& nonce);

/// `/ask` and `/stop`, as they are registered; a name that is registered already is replaced.
std::vector<rest_request> commands_of(const std::string& application);
/// Sets the answer of an interaction that was deferred.
rest_request answer_later(const std::string& application, const std::string& token, const std::string& text);

/// Answers to interactions.
std::string pong();
/// Shown to the asker alone, or to everybody in the channel. Mentions nobody.
std::string told_alone(const std::string& text);
std::string told_all(const std::string& text);
/// "The bot is thinking", seen by the asker alone, until `answer_later`.
std::string deferred();

/// What a person wrote, quoted line by line so that it fits one message.
std::string quoted(const std::string& who, const std::string& text);

} // namespace quell::integrations::chat::discord
