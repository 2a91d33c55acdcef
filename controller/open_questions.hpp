// Questions of running calls to humans, as the ledger keeps them. Part of the pure core, like `ledger`.
//
// A call that asks is paused although it has begun, and its row records that. A question of an agent of quell
// (ask_user) waits on over a restart, like a call that waits for approval. One of a server does not: with its
// connection the call has ended, outcome unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/ledger.hpp"

namespace quell::controller {

/// Whose question it is; one of an agent outlives the process.
enum class question_source : std::uint8_t { server, agent };

/// A question of a running call to a human.
struct paused_question {
  operation_id id;           ///< `human_answer` refers to it
  std::string question_json; ///< JSON text: the question, kept in the call's row while it is open
  question_source who = question_source::server;
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

/// The question in the row of a paused call; nullopt: it asks nothing.
std::optional<paused_question> question_in(const records::operation_hot& row);
/// The same if an agent asks it.
std::optional<paused_question> agents_question(const records::operation_hot& row);
/// True if the call waits for the answer to exactly this question.
bool waits_for_answer(const records::operation_hot& row, const operation_id& question);

} // namespace quell::controller
