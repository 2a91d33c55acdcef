// The beginning of an agent's requests, in place of the messages that a summary stands for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/turns/compaction.hpp"

namespace quell::controller::turns {

class kept_context {
 public:
  kept_context() = default;
  /// `begins`, `before`, `people`: of the conversation that the agent starts with, as in `placed_conversation`.
  kept_context(std::vector<std::uint64_t> begins, std::optional<conversation_summary> before,
               std::vector<std::string> people)
      : begins_(std::move(begins)), before_(std::move(before)), people_(std::move(people)) {}

  /// The agent's whole conversation with the newest summary in it.
  placed_conversation view(conversation all, const operation_id& agent) const;
  /// `now` is what `compacted` made of a view by this plan.
  void take(const placed_conversation& now, const compaction& plan);

 private:
  std::vector<std::uint64_t> begins_;
  std::optional<conversation_summary> before_;
  std::vector<std::string> people_;
  placed_conversation prefix_; ///< in the place of the first `replaced_` messages
  std::size_t replaced_ = 0;
};

} // namespace quell::controller::turns
