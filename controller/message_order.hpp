// A message from a user or client, and the decision about it (SURFACE 6).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/costs/limits.hpp"
#include "controller/local_operations.hpp"
#include "controller/order_claim.hpp"
#include "controller/orders.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::turns {

enum class modality : std::uint8_t { text, voice };

/// Client ids that begin so are quell's own: refused from clients.
inline constexpr std::string_view reserved_client_ids = "quell:";
inline constexpr std::string_view summary_client_id = "quell:summary";
/// The summary of a sub-agent's own conversation; the search for the scope's must not find it.
inline constexpr std::string_view aside_summary_client_id = "quell:summary-aside";

/// The effect of a message while a turn of its scope runs: it waits behind that turn, is told to it before its next
/// model call, stops it and takes its place, or answers what its agent asks.
enum class during_turn : std::uint8_t { queue, steer, supersede, answer };

/// The client that streams the turn of its message, and owns it: if it disconnects, the turn is stopped.
struct stream_client {
  std::string request{}; ///< by which its repeated request is known after a restart; "" = by its message's id alone
};

/// Shape and rights are already checked.
struct message_order {
  caller by;
  std::string via_channel = "api"; ///< of the cancel that the message can become
  scope_path scope;
  std::string text;
  attachments files{}; ///< uploaded before, and checked for this scope
  records::person author;
  std::string client_id; ///< "" = none
  std::optional<std::string> agent;
  std::optional<costs::tree_limits> budget{}; ///< of its turn, below that of the agent
  turns::modality modality = turns::modality::text;
  bool is_final = true;
  std::optional<double> confidence;
  std::optional<bool> addressed;
  std::optional<std::uint32_t> humans_present;
  std::vector<std::string> bot_names; ///< in addition to the configured ones
  /// The voice exchange that this message began: the parent of the message's turn; a stop ends it.
  std::optional<operation_id> exchange{};
  /// Operations that serve the conversation itself: like the exchange they make no scope active and nobody an owner.
  std::vector<operation_id> apart{};
  /// Voice exchanges to which an answer has come, and which live until that is heard: work of their speakers, also when
  /// nothing runs below them.
  std::vector<operation_id> answered{};
  /// Voice exchanges whose words were a stop that stopped nothing: neither they nor what runs below them makes anybody
  /// an owner.
  std::vector<operation_id> refused_stops{};
  std::optional<milliseconds> timeout{};           ///< of its turn, below that of the agent
  std::map<std::string, std::string> labels{};     ///< of its turn
  std::optional<during_turn> during{};             ///< absent: as its agent has it
  std::optional<operation_id> answers{};           ///< it answers what this turn asks, and no other one
  bool is_during_default = false;                  ///< `during` is its agent's, not the message's own
  std::optional<std::string> model{};              ///< of its turn, one of those that the agent has
  std::optional<std::vector<std::string>> tools{}; ///< of its turn, some of those that the agent has
  std::optional<operation_id> parent{};            ///< that its turn hangs below, and ends with
  std::optional<stream_client> client{};           ///< absent: nobody owns the turn
  bool was_by_chat = false;                        ///< it is asked again, and a chat brought it first
  std::string
      account{}; ///< the chat service's certain identity of the author; "" = it has none, or it is the author's id
  std::string context{}; ///< goes before the message in its own turn's prompt, and into no later one
  enum class scope_of_decision : std::uint8_t { decide, only_stop, only_turn } wants = scope_of_decision::decide;
  std::shared_ptr<order_claim> claim; ///< taken before anything is decided; none = the order cannot be withdrawn
};

/// The reason why a cancel word of this author counts or does not count.
enum class standing : std::uint8_t { text, speaker_owns, addressed, only_human, none };

struct message_answer {
  enum class decided : std::uint8_t { cancel, turn, ignored } decision = decided::ignored;
  std::string why;
  std::optional<message_id> message; ///< none: nothing was stored
  std::uint64_t seq = 0;
  bool is_duplicate = false;
  std::optional<std::string> cancel_word;
  std::optional<turns::standing> standing;
  // If it became a turn:
  std::optional<operation_id> turn;
  status turn_status = status::pending;
  std::uint32_t position = 0; ///< turns of this scope before it
  during_turn during = during_turn::queue;
  std::optional<operation_id> met{}; ///< the running turn that it steers, answers, or supersedes by `cancel`
  // If it became a cancel, or supersedes a turn:
  std::optional<cancel_id> cancel;
  std::string cancel_outcome, cancel_status;
  std::uint64_t operations = 0; ///< covered by the cancel
  std::vector<std::string> interrupted;
  bool words_follow = false;    ///< a model will write an acknowledgement of the stop, sent as an event
  bool is_acknowledged = false; ///< for a repeat: everything that follows the stop was already sent
  bool durable = true;
};

/// The whole decision as JSON.
std::string decision_json(const message_order& order, const message_answer& answer);

/// The event that tells watchers of the decision.
records::event_record decision_event(const message_order& order, const message_answer& answer);

/// The part stored with a message, so that a repeat gets the same decision; "" for an ordinary turn.
struct kept_decision {
  std::string why;
  std::optional<std::string> cancel_word;
  std::optional<turns::standing> standing;
  turns::modality modality = turns::modality::text;
  std::optional<cancel_id> cancel;
  std::string cancel_outcome, cancel_status;
  std::uint64_t operations = 0;
  std::vector<operation_id> interrupted; ///< the operations that are named, at most `most_named`
  std::uint64_t queued = 0;              ///< messages that waited for their turn
  during_turn during = during_turn::queue;
  std::optional<operation_id> met{};
  std::optional<cancel_id> supersedes_by{}; ///< the cancel of the turn that it supersedes
  attachments files;                        ///< of the message
};
inline constexpr std::size_t most_named = 20;
std::string kept_text(const kept_decision& d);
/// The files of a message as the JSON array in its stored decision.
std::string files_text(const attachments& files);
/// The standing of this name; nullopt: there is none.
std::optional<standing> standing_named(std::string_view name);
/// The manner of this name; nullopt: there is none.
std::optional<during_turn> during_turn_named(std::string_view name);
/// The block of a turn whose message steers `turn`: it says so, and a restart finds it there.
std::string with_steered(const std::string& block, const operation_id& turn);
/// The stored decision about a message, as an answer.
message_answer answer_of(const kept_decision& kept, const message_id& message, const std::optional<operation_id>& turn);
/// Chooses the live operations that are worth naming, and counts the messages that wait for their turn.
void choose_names(kept_decision& into, const std::vector<outlined>& live);

/// The reason to ignore the message before it is searched for stop words; "" = none.
std::string why_ignored(const message_order& order, double least_confidence);

} // namespace quell::controller::turns
