// The earlier messages that a stateless client sends with each request, as one text that goes before its newest
// message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/problem.hpp"

namespace quell::controller::http {

struct prior_message {
  std::string role; ///< system, user, assistant or tool
  std::string text;
};

/// The most bytes of the earlier messages of one request; nothing of them is dropped silently.
inline constexpr std::size_t max_prior_bytes = 256 * 1024;
inline constexpr std::size_t max_message_bytes = 64 * 1024;

/// The conversation that the model reads before the newest message; "" if there is none.
std::string context_text(const std::vector<prior_message>& before);

/// A conversation as sent: the earlier messages, and the newest one, which is a user's.
struct sent_conversation {
  std::vector<prior_message> before;
  std::string text;
};

/// `text_of` gives the text of one message's member `from`, or notes why it has none. Every wrong message is noted in
/// `errors`, below the pointer `/messages`.
using message_text = std::string (*)(const nlohmann::json& message, const std::string& pointer,
                                     std::vector<field_error>& errors);
sent_conversation read_conversation(const nlohmann::json* messages, message_text text_of,
                                    std::vector<field_error>& errors);

} // namespace quell::controller::http
