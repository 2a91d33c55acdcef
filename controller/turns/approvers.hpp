// Who in a chat may say yes or no to a call that waits for a human. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/turns/settings.hpp"
#include "storage/records.hpp"

namespace quell::controller::turns {

/// Somebody in a chat who pressed a button or wrote "approve".
struct chat_approver {
  scope_path place;        ///< where
  std::string id, account; ///< as in `integrations::chat::person`
};

/// Why this person may not decide about `call`; nullopt: they may. Faults: `operation_not_found` (it waits somewhere
/// else), `forbidden`.
std::optional<fault> why_not_decide(const chat_manners& manners, const chat_approver& who,
                                    const storage::operation_record& call);

/// Whether `[chat] approvers` names this token, as `token:<id>`.
bool is_approving_token(const chat_manners& manners, const std::string& token);

/// Why an entry of `[chat] approvers` is none; "" = it is one.
std::string wrong_approver(const std::string& entry);

} // namespace quell::controller::turns
