// Requests to Telegram's Bot API, and what its answers mean. Pure.
#pragma once

#include <string>
#include <string_view>

#include "integrations/chat/outbox.hpp"
#include "integrations/chat/telegram/settings.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::telegram {

struct destination {
  std::string chat, topic; ///< topic "" = none
};
/// Of `telegram/<chat>[/<topic>[/…]]`; chat "" for any other scope, or ids that are no numbers.
destination destination_of(const scope_path& scope);

/// A method of the API with a JSON body. Its url holds the token: never logged.
web_request call(const telegram_settings& s, const std::string& method, std::string json_body);
web_request request_of(const telegram_settings& s, const action& a);
/// What became of it, and Telegram's word for an error (for the log).
done_how outcome_of(const action& a, const web_response& r, std::string& error);
/// `retry_after` of an answer's `parameters`, else of its header; 0 = none.
milliseconds retry_after_of(const web_response& r);
/// What an answer says is wrong, for people; "" = nothing. Never holds the token.
std::string trouble_of(const web_response& r);

outbox_rules rules_of(const telegram_settings& s);

} // namespace quell::integrations::chat::telegram
