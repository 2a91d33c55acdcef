// A tool actor: one handler per message, around a tool run.
#include "actors/tool_actor.hpp"

#include <caf/all.hpp>
#include <optional>

namespace quell::actors {

namespace {

struct tool_state {
  std::optional<tool_run> it;
};

using tool_pointer = tool_actor::stateful_pointer<tool_state>;

tool_actor::behavior_type tool_behavior(tool_pointer self, const std::shared_ptr<tool_start>& start) {
  tool_run::parts parts{start->call, start->what, std::move(start->port), std::move(start->work), {}, {}};
  parts.post = [handle = caf::actor_cast<tool_actor>(self)](std::function<void()> what) {
    caf::anon_send(handle, answer_arrived{std::move(what)});
  };
  parts.over = [self, agent = start->agent, number = start->number](const tool_result& stands) {
    self->send(agent, tool_over{number, stands});
    self->quit();
  };
  self->state.it.emplace(std::move(parts));
  self->state.it->begin();
  return {
      [self](const cancel_now& m) { self->state.it->stop(m.reason); },
      [](const answer_arrived& m) { m.handle(); },
  };
}

} // namespace

tool_actor spawn_tool(caf::scheduled_actor& above, tool_start start) {
  return above.spawn<caf::linked>(tool_behavior, std::make_shared<tool_start>(std::move(start)));
}

} // namespace quell::actors
