// A message that somebody said, and what was decided about it (SURFACE 6).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/order_claim.hpp"
#include "controller/orders.hpp"
#include "storage/history.hpp"

namespace quell::controller::turns {

enum class modality : std::uint8_t { text, voice };

/// Checked for shape and rights.
struct message_order {
  caller by;
  std::string via_channel = "api"; ///< of the cancel that it may become
  scope_path scope;
  std::string text;
  storage::person author;
  std::string client_id; ///< "" = none
  std::optional<std::string> agent;
  turns::modality modality = turns::modality::text;
  bool is_final = true;
  std::optional<double> confidence;
  std::optional<bool> addressed;
  std::optional<std::uint32_t> humans_present;
  std::vector<std::string> bot_names; ///< beside the configured ones
  /// Of the voice exchange that these words began: the parent of their turn, and over with a stop.
  std::optional<operation_id> exchange{};
  /// What serves the conversation itself: like the exchange it makes nothing active, and nobody an owner.
  std::vector<operation_id> apart{};
  std::string context{}; ///< stands before the words in their own prompt, and in no later one
  enum class wish : std::uint8_t { decide, only_stop, only_turn } wants = wish::decide;
  std::shared_ptr<order_claim> claim; ///< taken before anything is decided; none = it cannot be withdrawn
};

/// Why a cancel word of this author counts, or does not.
enum class standing : std::uint8_t { text, speaker_owns, addressed, only_human, none };

struct message_answer {
  enum class decided : std::uint8_t { cancel, turn, ignored } decision = decided::ignored;
  std::string why;
  std::optional<message_id> message; ///< none: nothing was stored
  std::uint64_t seq = 0;
  bool is_duplicate = false;
  std::optional<std::string> cancel_word;
  std::optional<turns::standing> standing;
  // turn:
  std::optional<operation_id> turn;
  status turn_status = status::pending;
  std::uint32_t position = 0; ///< turns of this scope before it
  // cancel:
  std::optional<cancel_id> cancel;
  std::string cancel_outcome, cancel_status;
  std::uint64_t operations = 0; ///< that it covers
  std::vector<std::string> interrupted;
  bool words_follow = false;    ///< a model is asked for a word about the stop; told to those who watch
  bool is_acknowledged = false; ///< of a repeat: all that follows a stop was said before
  bool durable = true;
};

/// The whole decision as JSON.
std::string decision_json(const message_order& order, const message_answer& answer);

/// What is stored with a message to decide the same about a repeat of it; "" for an ordinary turn.
struct kept_decision {
  std::string why;
  std::optional<std::string> cancel_word;
  std::optional<turns::standing> standing;
  turns::modality modality = turns::modality::text;
  std::optional<cancel_id> cancel;
  std::string cancel_outcome, cancel_status;
  std::uint64_t operations = 0;
  std::vector<operation_id> interrupted; ///< the operations whose names are told, at most `most_named`
  std::uint64_t queued = 0;              ///< messages that waited for their turn
};
inline constexpr std::size_t most_named = 20;
std::string kept_text(const kept_decision& d);
/// What was not written by `kept_text` reads as an ordinary turn.
kept_decision read_kept(const std::string& text);
/// Whether the turn began with a word to stop that did not count, by what is kept.
bool is_refused_stop(const operation_id& turn, const std::vector<storage::kept_message>& kept);

/// Why this is ignored before anybody looks for words in it; "" = it is not.
std::string why_ignored(const message_order& order, double least_confidence);

} // namespace quell::controller::turns
