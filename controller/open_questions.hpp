// Questions of running calls to humans, as the ledger keeps them. Part of the pure core, like `ledger`.
//
// A call that asks is paused although it has begun: its row records that. After a restart a server's question has ended
// with its call, outcome unknown. An agent's own question (ask_user) waits on, like a call that waits for approval.
#pragma once

#include <string>

#include "controller/ledger.hpp"

namespace quell::controller {

/// A question of a running call to a human.
struct paused_question {
  operation_id id;           ///< `human_answer` refers to it
  std::string question_json; ///< JSON text: the question, kept in the call's row while it is open
};

/// A human's answer to a question.
struct human_answer {
  operation_id question;
  bool accepts = false;
  bool is_dismissed = false; ///< otherwise: neither yes nor no
  std::string values; ///< with `accepts`: JSON text of an object, "" = none; goes to the asking side and is not stored
  std::string reason;
  records::person by;
  std::string event_data; ///< JSON text: the data of its event
};

class open_questions {
 public:
  virtual ~open_questions() = default;
  /// A running call waits for a human's answer. False: it is being stopped, has ended, or waits already.
  virtual bool ask(const operation_id& id, paused_question what, moment now) = 0;
  /// Withdraws the question. False: it was not open.
  virtual bool take_back(const operation_id& id, const operation_id& question, moment now) = 0;
  /// The call continues, whatever the answer is. Faults: operation_not_found, not_paused.
  virtual outcome<operation_id> answer(const operation_id& id, const human_answer& what, moment now) = 0;
};

open_questions& questions_of(ledger& l);

} // namespace quell::controller
