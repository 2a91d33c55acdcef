// Requests to Slack's Web API, and what its answers mean. Pure.
#pragma once

#include <string>
#include <string_view>

#include "integrations/chat/outbox.hpp"
#include "integrations/chat/slack/settings.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::slack {

/// Where a scope's messages go.
struct destination {
  std::string channel, thread; ///< thread "" = the channel itself
};
/// Of `slack/<team>/<channel>[/<thread>[/…]]`; channel "" for any other scope.
destination destination_of(const scope_path& scope);

/// A method of the API with a JSON body.
web_request call(const slack_settings& s, const char* method, std::string json_body);
/// The request that an action is; its url is "" if Slack has no such thing.
web_request request_of(const slack_settings& s, const action& a);
/// What became of it, and Slack's word for an error (for the log).
done_how outcome_of(const action& a, const web_response& r, std::string& error);

/// Rules of Slack for an outbox.
outbox_rules rules_of(const slack_settings& s);
/// `&`, `<` and `>` as Slack wants them.
std::string escaped(std::string_view text);

} // namespace quell::integrations::chat::slack
