// A turn for a client that speaks another protocol than ours: its scope, its message, and who stops it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/turn_scheduler.hpp"
#include "gateway/compat/prior_messages.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

struct client_request {
  std::string agent;               ///< "" = the one that serves the scope
  std::optional<scope_path> scope; ///< of a conversation that quell keeps; absent: a fresh one for this request
  sent_conversation conversation;
  std::optional<records::person> author;
  std::string channel;          ///< recorded with the cancel: one of these
  std::string client_id = {};   ///< the client's id of its message; "" = none
  bool outlives_client = false; ///< nobody owns the turn: a disconnect stops nothing
  /// `queue`: these clients wait for an answer of their own.
  turns::during_turn during = turns::during_turn::queue;
  std::optional<operation_id> answers = {}; ///< it answers what this turn asks, and no other one
  std::map<std::string, std::string> labels = {};
  /// In a kept conversation: its message is asked again, with everything behind it taken away. An edited one that quell
  /// does not know is a message like others.
  enum class again_as : std::uint8_t { nothing, as_it_was, edited } again = again_as::nothing;
  std::string page_message = {}; ///< the page's id of that message; "" = the newest
  /// The page's name of this request, different for each of its conversation; "" = it has none.
  std::string page_request = {};
};
inline constexpr const char* openai_channel = "openai";
inline constexpr const char* ui_channel = "ui";
inline constexpr const char* a2a_channel = "a2a";

struct client_turn {
  turns::message_order order;
  turns::message_answer decided;
  std::uint64_t after =
      0; ///< events of the turn are newer than this; of a repeat, those that its client missed are not
  std::shared_ptr<owned_turn>
      owned; ///< null: without a turn, for example because the message was a stop, or nobody owns it
};

/// Checks rights and limits as `POST /v1/messages` does, and returns once the decision is durable. From then on the
/// client owns the turn, unless that outlives it: its disconnect is a cancel of the turn with everything below it, by
/// its author, in the ledger.
awaitable<client_turn> begin_client_turn(exchange& x, client_request wanted);

/// The answer to a message that began no turn: a stop, or a word to stop where nothing is active.
std::string words_without_turn(const turns::message_answer& decided);

/// From now on the disconnect of its client cancels the turn.
std::shared_ptr<owned_turn> owned_by_client(exchange& x, const client_turn& begun);

/// The scope below which an agent answers this caller's fresh conversations: the token's, or the first below it that
/// the agent serves. Nullopt: the caller reaches none of the agent's scopes. An empty text: any scope.
std::optional<std::string> base_for(const turns::agent_settings& agent, const caller& who);

} // namespace quell::controller::http
