// The earlier messages that a stateless client sends with each request, as one text that goes before its newest
// message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/compat/sent_images.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

struct prior_message {
  std::string role; ///< system, user, assistant or tool
  std::string text{};
  std::vector<sent_image> images{}; ///< of a user's message
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
  std::vector<sent_image> images{}; ///< of the newest message
};

/// Adds the text and the images of one message to what is known of it (its role), or notes why it has none.
using message_content = void (*)(const nlohmann::json& message, const std::string& pointer, prior_message& into,
                                 std::vector<field_error>& errors);
/// Every wrong message is noted in `errors`, below the pointer `/messages`.
sent_conversation read_conversation(const nlohmann::json* messages, message_content read_content,
                                    std::vector<field_error>& errors);
/// The image at the `data:` URL `url`, added to its message; otherwise the error is noted.
void add_image(const nlohmann::json* url, const std::string& pointer, prior_message& into,
               std::vector<field_error>& errors);

} // namespace quell::controller::http
