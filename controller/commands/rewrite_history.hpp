// Takes exchanges out of a conversation and adds messages to one, in one transaction. The rows stay, marked.
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
};

rewrite_history::answer apply(const rewrite_history& command, const context& with);
std::string describe(const rewrite_history& command);

} // namespace quell::controller::commands
