// Requests to Slack's Web API, and the meaning of its answers. Pure.
#pragma once

#include <string>
#include <string_view>

#include "integrations/chat/outbox.hpp"
#include "integrations/chat/slack/settings.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::slack {

/// The destination of a scope's messages.
struct destination {
  std::string channel, thread; ///< thread "" = the channel itself
};
/// The destination of `slack/<team>/<channel>[/<thread>[/…]]`; channel "" for any other scope.
destination destination_of(const scope_path& scope);

/// A method of the API with a JSON body.
web_request call(const slack_settings& s, const char* method, std::string json_body);
/// A method of the API that accepts a form, not JSON.
web_request form_call(const slack_settings& s, const char* method, std::string form);
/// The request for a message's file. Fault: it is not at one of the addresses that get the token.
result<web_request> file_request(const slack_settings& s, const offered_file& file);
/// The request for an action; its url is "" if Slack has none. `nonce`: makes the keys of posts unique to this bot.
web_request request_of(const slack_settings& s, const action& a, const std::string& nonce);
/// The outcome of the action, and Slack's error code (for the log).
done_how outcome_of(const action& a, const web_response& r, std::string& error);

/// Slack's rules for an outbox.
outbox_rules rules_of(const slack_settings& s);
/// The text with `&`, `<` and `>` escaped as Slack requires.
std::string escaped(std::string_view text);

} // namespace quell::integrations::chat::slack
