// Finds the calls that start a program.
#include "actors/turns/questions_by_chat.hpp"

#include "actors/turns/sub_agent.hpp"

namespace quell::controller::turns {
namespace {

bool starts_a_program(const agent_context& who, const turn_settings& settings, const tool_call& call) {
  if (call.name == "exec") return true;
  if (call.name != "spawn_agent") return false;
  const auto request = read_sub_agent_request(call.input);
  if (!request) return false; // it is refused
  const auto child = sub_agent_settings(settings, who.agent, *request);
  return child && child->is_command();
}

} // namespace

bool is_default_or_below(const agent_context& who) { return who.is_below_default || who.agent.name == "default"; }

std::string question_by_chat(const agent_context& who, const turn_settings& settings, const tool_call& call) {
  const bool must_ask = settings.chat.default_agent_asks && who.is_by_chat && is_default_or_below(who);
  return must_ask && starts_a_program(who, settings, call) ? "exec: by chat" : "";
}

} // namespace quell::controller::turns
