// Looks for a post of which nobody knows whether it arrived: each post carries a key in its metadata. Pure.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "integrations/chat/outbox.hpp"
#include "integrations/chat/slack/write.hpp"

namespace quell::integrations::chat::slack {

std::string post_key(const std::string& nonce, std::uint64_t number);
/// The metadata of the post with this key.
nlohmann::json mark_of_post(const std::string& key);
/// Asks for the newest messages of the channel, or for those of the thread from the last day.
web_request find_request(const slack_settings& s, const destination& where);
/// `sent` with its message if the post is there, `absent` if it is not. `refused`: it cannot be known, because Slack
/// does not show metadata to this app, or lists more messages than were read. `user`: the bot's own; "" = unknown.
done_how found_post(const web_response& r, const destination& where, const std::string& key, const std::string& user);

} // namespace quell::integrations::chat::slack
