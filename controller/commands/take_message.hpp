// Decides about a message at one instant: a stop, a turn, or neither. A stop covers exactly the messages before it. Its
// cancel is accepted here by the same code as that of `order_cancel`, and fenced with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/first_turn.hpp"
#include "controller/local_operations.hpp"
#include "controller/message_order.hpp"
#include "controller/open_questions.hpp"

namespace quell::controller::commands {

/// The agent that would answer the message, and what its turn's row says.
struct answering_agent {
  std::string name;
  milliseconds timeout{0};
  std::string kind_data;
};

struct taken_message {
  outcome<turns::message_answer> answer;
  /// `begin_turn`: its turn is the first of its scope; `queue_turn`: it waits. `stop`: a cancel was accepted or joined.
  enum class then : std::uint8_t { answer, stop, begin_turn, queue_turn } next = then::answer;
  turns::kept_decision kept{};          ///< of a stop
  std::optional<cancel_id> fences = {}; ///< the cancel that this message accepted, also of a turn it supersedes
  struct given_answer {
    operation_id call;
    human_answer given;
  };
  std::optional<given_answer> answered = {};    ///< the message is this answer to an agent's question
  std::shared_ptr<const first_turn> first = {}; ///< with `begin_turn`, unless the exchange is asked again
};

/// An exchange is asked again by a change of its conversation.
struct question_again {
  operation_id change;                 ///< see `begin_history_change`; nothing else may wait in the scope's queue
  std::vector<operation_id> discarded; ///< the turns whose exchanges go: its old one, and those behind it
  std::optional<std::uint64_t> as_of;  ///< a cancel of the scope after this seq comes before the new turn
  /// That steered the old turn: the new one is told them with its message. Without seqs and turns.
  std::vector<records::message_record> steering = {};
};

/// The answer that a message would be to what an agent asks in its scope.
struct possible_answer {
  operation_id turn; ///< whose tree asks
  std::string owner; ///< the id of the author of its message, who is asked
  operation_id call;
  human_answer given;
  own_outcome end;         ///< of the call
  own_outcome message_end; ///< of the message's own turn, which never runs
  bool is_by_chat = false; ///< a chat brought the message of the turn that asks
};

struct take_message {
  using answer = taken_message;
  static constexpr std::string_view name = "take_message";

  turns::message_order order;      ///< without a claim
  std::optional<std::string> word; ///< the stop word that it is
  tl::expected<answering_agent, refusal> agent;
  std::string exchange_result; ///< JSON text, of the exchange that a stop ends
  boot_time received{};        ///< fenced_ms of a stop counts from here
  message_id message;          ///< fresh, like the next two
  operation_id turn;
  cancel_id cancel;
  std::optional<question_again> again = {};  ///< then it is a turn, whatever it says
  std::vector<possible_answer> answers = {}; ///< to the questions of agents in its scope, the oldest first
};

take_message::answer apply(const take_message& command, const context& with);
std::string describe(const take_message& command);

} // namespace quell::controller::commands
