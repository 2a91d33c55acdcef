// An answer that grows changes no state: only its end is sent.
#include "gateway/a2a/push_look.hpp"

namespace quell::controller::http::a2a {

awaitable<std::optional<push_look>> look_for_push(thread_context& gw, push_config config) {
  const served_agent agent{config.agent, config.base};
  const auto facts = co_await find_task(gw, config.task, agent);
  if (!facts) co_return std::nullopt;
  const auto now = status_of(*facts);
  push_look look;
  look.is_over = is_over(now.state);
  look.root = facts->root;
  if (facts->stop) look.cancel = facts->stop->cancel;
  look.state = std::string(name_of_state(now.state)) + (now.words.empty() ? "" : ": " + now.words);
  if (look.state.size() > 256) look.state.resize(256);
  const auto body = look.is_over ? nlohmann::ordered_json{{"task", task_json(*facts)}} : status_update(*facts);
  look.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  co_return look;
}

} // namespace quell::controller::http::a2a
