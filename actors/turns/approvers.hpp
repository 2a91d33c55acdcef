// Decides who in a chat can approve or deny a call that waits for a human. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::turns {

/// A chat user who pressed a button or wrote "approve".
struct chat_approver {
  scope_path place;        ///< the chat
  std::string id, account; ///< as in `integrations::chat::person`
  std::vector<std::string> roles{};
};

/// The reason why this person must not decide about `call`, by the settings of the call's own place; nullopt: they may.
/// `account`: of the author of the request, if the service knows them by another name than the call's owner: a name can
/// be changed, an account stays. Faults: `operation_not_found` (it waits in another place), `forbidden`.
std::optional<coded_fault> why_not_decide(const chat_options& everywhere, const chat_approver& who,
                                          const records::operation_record& call, const std::string& account = {});

/// The fault of a decision that came too late, in words for the person who pressed the button; others as they are.
coded_fault in_words_of_chat(coded_fault why);

/// Whether `[chat] approvers` names this token, as `token:<id>`.
bool is_approving_token(const chat_options& chat_rules, const std::string& token);

/// The error in an entry of `[chat] approvers`; "" = it is valid.
std::string wrong_approver(const std::string& entry);

} // namespace quell::controller::turns
