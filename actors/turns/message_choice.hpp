// The choices of a message for its turn, beside its agent: another of the agent's models, and fewer of its tools. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "controller/orders.hpp"

namespace quell::controller::turns {

struct message_choice {
  std::optional<std::string> model;
  std::optional<std::vector<std::string>> tools; ///< empty: none

  bool is_none() const { return !model && !tools; }
  friend bool operator==(const message_choice&, const message_choice&) = default;
};

/// The agent as the message wants it. With `tools` its sub-agents have no more than those either, whatever `may_spawn`
/// says. Refusal `invalid_field` with the pointer for a model that is not in the agent's `models`, and for a tool that
/// the agent does not have.
tl::expected<agent_settings, refusal> chosen(const turn_settings& settings, agent_settings agent,
                                             const message_choice& choice);
/// The same when the turn begins, maybe after a reload: tools that the agent has lost are left out. nullopt: the model
/// is not one of the agent's any more.
std::optional<agent_settings> still_chosen(agent_settings agent, const message_choice& choice);
/// The part of a choice that the agent can still give, for a message that is asked again.
message_choice possible_part(const agent_settings& agent, message_choice choice);

/// In the block of a turn, where a restart finds it.
std::string with_choice(const std::string& block, const message_choice& choice);
message_choice choice_of(const std::string& block);

} // namespace quell::controller::turns
