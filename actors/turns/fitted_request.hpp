// One request of an agent to its model, made to fit into the model's context.
//
// If it does not fit after old results were trimmed, a summary is written first. If the provider says that it is too
// long all the same, a summary is written and it is asked once more. Without a summary (the call failed, the disk is
// almost full, there is nothing to summarise) the oldest messages give way to a note. A fallback model into whose
// context the request does not fit gets one of its own, made in the same way.
#pragma once

#include <functional>
#include <memory>

#include "actors/agent/ports.hpp"
#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/compaction.hpp"

namespace quell::controller::turns {

struct fitted_request {
  std::shared_ptr<agent_runtime> runtime;
  std::shared_ptr<const agent_context> who;
  std::shared_ptr<actors::agent_handle> agent; ///< gets the stop of a summary's operation
  placed_conversation messages;
  actors::step_poster post; ///< to the agent, to which the request belongs
  std::function<void(model_event)> listener;
  /// The conversation was compacted by this plan.
  std::function<void(const placed_conversation& now, const compaction& plan)> compacted;
  /// The tokens of a summary.
  std::function<void(const model_usage&)> used_beside;
};

/// Never blocks; `listener` is called on any thread.
std::unique_ptr<actors::model_stream> ask_fitted(fitted_request what);

} // namespace quell::controller::turns
