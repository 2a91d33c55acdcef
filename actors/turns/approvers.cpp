// Checks the place first, then the person, then whether it is the person's own request.
#include "actors/turns/approvers.hpp"

#include <algorithm>
#include <string_view>

namespace quell::controller::turns {
namespace {

constexpr std::size_t most_entry = 256;
constexpr std::string_view role_prefix = "role:";
constexpr std::string_view no_slack_groups =
    "names a group, and Slack does not say with a button to which of its user groups a person belongs: name the people "
    "themselves, such as \"slack:U024BE7LH\", or decide with `quell approve`";

bool is_named(const chat_options& chat_rules, const std::string& entry) {
  return std::find(chat_rules.approvers.begin(), chat_rules.approvers.end(), entry) != chat_rules.approvers.end();
}

bool is_approver(const chat_options& chat_rules, const std::string& service, const chat_approver& who) {
  // An account whose name looks like a role is none.
  if (!who.account.starts_with(role_prefix) && is_named(chat_rules, service + ":" + who.account)) return true;
  if (is_named(chat_rules, service + ":*")) return true;
  return std::any_of(who.roles.begin(), who.roles.end(), [&](const std::string& role) {
    return is_named(chat_rules, service + ":" + std::string(role_prefix) + role);
  });
}

/// A user group of Slack, as people write one: S0614TZR7, <!subteam^S0614TZR7>, @oncall, group:oncall. People of Slack
/// have ids that begin with U or W.
bool names_slack_group(std::string_view person) {
  const bool is_id = person.starts_with('S') && person.size() > 1 &&
                     person.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == std::string_view::npos;
  return is_id || person.starts_with('@') || person.starts_with('<') || person.starts_with("group:") ||
         person.starts_with("usergroup:") || person.starts_with("subteam:");
}

} // namespace

std::optional<coded_fault> why_not_decide(const chat_options& everywhere, const chat_approver& who,
                                          const records::operation_record& call, const std::string& account) {
  const auto chat_rules = options_in(everywhere, call.scope);
  if (!call.scope.is_at_or_below(who.place))
    return coded_fault{error_code::operation_not_found, "nothing of that id waits for approval here", {}};
  const auto service = who.place.text().substr(0, who.place.text().find('/'));
  if (who.account.empty())
    return coded_fault{
        error_code::forbidden, service + " does not say for certain who you are; approve or deny it with `quell`", {}};
  if (!is_approver(chat_rules, service, who))
    return coded_fault{error_code::forbidden,
                       "you are not an approver; an admin can add \"" + service + ":" + who.account +
                           "\" to approvers ([chat] or [[place]]), or decide with `quell approve` and `quell deny`",
                       {}};
  // With an account, a name alone is nobody's: on IRC anybody takes a free one.
  const bool is_own =
      account.empty() ? call.owner.id == who.id || call.owner.id == who.account : account == who.account;
  if (!chat_rules.approve_own && is_own)
    return coded_fault{
        error_code::forbidden, "it is your own request; somebody else must decide ([chat] approve_own)", {}};
  return std::nullopt;
}

coded_fault in_words_of_chat(coded_fault why) {
  if (why.code == error_code::operation_not_found) why.detail = "this call has ended; nothing is waiting any more";
  if (why.code == error_code::not_paused) why.detail = "nothing waits for this answer any more";
  return why;
}

bool is_approving_token(const chat_options& chat_rules, const std::string& token) {
  return !token.empty() && is_named(chat_rules, "token:" + token);
}

std::string wrong_approver(const std::string& entry) {
  const auto colon = entry.find(':');
  if (entry.size() > most_entry) return "is too long";
  if (colon == std::string::npos || colon == 0 || colon + 1 == entry.size())
    return "must be a service and a person as the service knows them, such as \"discord:80351110224678912\", or "
           "\"slack:*\" for everybody there, or \"token:<id>\"";
  const auto service = entry.substr(0, colon);
  if (const auto person = entry.substr(colon + 1); person.starts_with(role_prefix)) {
    if (service == "slack") return std::string(no_slack_groups);
    if (service != "discord") return "names a role, and only those of Discord are known: \"discord:role:<id>\"";
    const auto role = person.substr(role_prefix.size());
    const bool is_id = !role.empty() && role.find_first_not_of("0123456789") == std::string::npos;
    return is_id ? "" : "must name a role by its number, such as \"discord:role:80351110224678912\"";
  }
  if (service == "slack" && names_slack_group(std::string_view(entry).substr(colon + 1)))
    return std::string(no_slack_groups);
  for (const char* known : {"slack", "telegram", "discord", "irc", "xmpp", "token"})
    if (service == known) return service == "token" && entry.ends_with(":*") ? "must name one token by its id" : "";
  return "begins with no service that knows people; there are slack, telegram, discord, irc, xmpp, and token";
}

} // namespace quell::controller::turns
