// Requests to Telegram's Bot API, and the meaning of its answers. Pure.
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
/// The destination of `telegram/<chat>[/<topic>[/…]]`; chat "" for any other scope, or ids that are not numbers.
destination destination_of(const scope_path& scope);

/// A method of the API with a JSON body. Its URL contains the token: never log it.
web_request call(const telegram_settings& s, const std::string& method, std::string json_body);
/// Asks where a file is.
web_request file_question(const telegram_settings& s, const offered_file& file);
/// The request for the file that the answer names. Its URL contains the token. Fault: the answer names none.
result<web_request> file_request(const telegram_settings& s, const web_response& answer);
web_request request_of(const telegram_settings& s, const action& a);
/// The outcome of the action, and Telegram's error text (for the log).
done_how outcome_of(const action& a, const web_response& r, std::string& error);
/// `retry_after` in an answer's `parameters`, otherwise in its header; 0 = none.
milliseconds retry_after_of(const web_response& r);
/// The error in an answer, for display; "" = none. Never contains the token.
std::string trouble_of(const web_response& r);

outbox_rules rules_of(const telegram_settings& s);

} // namespace quell::integrations::chat::telegram
