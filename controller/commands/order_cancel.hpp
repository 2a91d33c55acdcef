// Orders a cancel: the one command that stops a tree of work. Its answer is the cancel as accepted; it leaves when the
// cancel is fenced.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct order_cancel {
  using answer = outcome<cancel_view>;
  static constexpr std::string_view name = "order_cancel";
  /// `live_target`: work that is not live gives `operation_not_found`, and nothing is recorded.
  enum class may_target : std::uint8_t { anything, live_target };

  cancel_order order;
  cancel_id fresh; ///< the id to use if the order names none
  may_target target = may_target::anything;
};

/// The refusal of a cancel that may target only live work, if its target is not live. nullopt: it can be accepted.
std::optional<refusal> refuse_absent(const order_cancel& command, const context& with);
/// The cancel, with its audit event in the same transaction, so that no cancel exists without its author's name.
order_cancel::answer accept(const order_cancel& command, ledger& operations, moment now);
/// Both.
order_cancel::answer apply(const order_cancel& command, const context& with);
/// True if this order accepted a new cancel, which must be fenced; false for a refusal, a dry run, and one that joined.
bool must_be_fenced(const order_cancel& command, const order_cancel::answer& answer);
std::string describe(const order_cancel& command);

} // namespace quell::controller::commands
