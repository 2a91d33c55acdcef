// What begun calls ask humans, as the ledger keeps it. Part of the pure heart, like `ledger`.
//
// A call that asks is paused although it has begun: its row says so, and after a restart it has ended as any call that
// ran, its outcome unknown. One that only waits for approval has begun nothing, and waits on.
#pragma once

#include <string>

#include "controller/ledger.hpp"

namespace quell::controller {

/// What a begun call asks a human.
struct asked_question {
  operation_id id;  ///< names it in `human_answer`
  std::string told; ///< JSON text: what is asked, kept in the call's row while it is open
};

/// A human's answer to it.
struct human_answer {
  operation_id question;
  bool accepts = false;
  bool is_dismissed = false; ///< else: neither yes nor no
  std::string values; ///< with `accepts`: JSON text of an object, "" = none; goes to who asks, and is kept nowhere
  std::string reason;
  storage::person by;
  std::string told; ///< JSON text: the data of its event
};

class question_books {
 public:
  virtual ~question_books() = default;
  /// A running call waits for a human's answer. False: it is being stopped, is over, or waits already.
  virtual bool ask(const operation_id& id, asked_question what, moment now) = 0;
  /// It does not ask this any more. False: it did not.
  virtual bool take_back(const operation_id& id, const operation_id& question, moment now) = 0;
  /// The call goes on, whatever the answer is. Faults: operation_not_found, not_paused.
  virtual outcome<operation_id> answer(const operation_id& id, const human_answer& what, moment now) = 0;
};

question_books& questions_of(ledger& l);

} // namespace quell::controller
