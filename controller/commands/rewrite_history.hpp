// Takes exchanges out of a conversation, marks answers as unheard, and adds messages, in one transaction. The rows
// stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct history_rewritten {
  std::uint64_t seq = 0; ///< of the last message that was added; 0: none was
};

struct rewrite_history {
  using answer = history_rewritten;
  static constexpr std::string_view name = "rewrite_history";

  std::vector<operation_id> discarded; ///< turns whose exchange is no longer part of the conversation
  /// Without seqs. The calls of an answer become rows with their results; a message of role tool brings none of its
  /// own.
  std::vector<records::kept_message> added;
  /// Turns whose answer was cancelled after it was given, and how later prompts tell it (`records::put_turn_ending`).
  std::vector<records::put_turn_ending> retracted = {};
};

rewrite_history::answer apply(const rewrite_history& command, const context& with);
std::string describe(const rewrite_history& command);

} // namespace quell::controller::commands
