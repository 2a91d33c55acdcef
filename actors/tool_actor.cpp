// A tool actor: the go, the work, its end. A cancel goes to the work at once; the call's result is then another's
// business, and this actor waits only for the end.
#include "actors/tool_actor.hpp"

#include <caf/all.hpp>

namespace quell::actors {

namespace {

struct tool_state {
  tool_start start;
  bool is_stopped = false;
  std::string reason;
};

using tool_pointer = tool_actor::stateful_pointer<tool_state>;

void finish(tool_pointer self, const tool_result& stands) {
  self->send(self->state.start.agent, tool_over{self->state.start.number, stands});
  self->quit();
}

/// Says how it ended; what stands comes back and goes up.
void close(tool_pointer self, const work_end& how) {
  const auto& s = self->state.start;
  s.port->close_call(s.call, {s.what.call, s.what.name, how.ok, how.cancelled, how.result},
                     [handle = caf::actor_cast<tool_actor>(self), self](const tool_result& stands) {
                       caf::anon_send(handle, continued{[self, stands] { finish(self, stands); }});
                     });
}

void go(tool_pointer self, bool may_begin) {
  auto& s = self->state;
  // Told to stop while the go was on its way: it never began.
  if (!may_begin || s.is_stopped) return close(self, {false, "null"});
  s.start.work->start([handle = caf::actor_cast<tool_actor>(self)](work_end how) {
    caf::anon_send(handle, work_over{std::move(how)});
  });
}

tool_actor::behavior_type tool_behavior(tool_pointer self, const std::shared_ptr<tool_start>& start) {
  self->state.start = std::move(*start);
  const auto& s = self->state.start;
  s.port->begin_call(s.call, [handle = caf::actor_cast<tool_actor>(self), self](bool may_begin) {
    caf::anon_send(handle, continued{[self, may_begin] { go(self, may_begin); }});
  });
  return {
      [self](const cancel_now& m) {
        auto& state = self->state;
        state.is_stopped = true;
        state.start.work->stop(m.reason);
      },
      [](const continued& m) { m.what(); },
      [self](const work_over& m) { close(self, m.how); },
  };
}

} // namespace

tool_actor spawn_tool(caf::scheduled_actor& above, tool_start start) {
  return above.spawn<caf::linked>(tool_behavior, std::make_shared<tool_start>(std::move(start)));
}

} // namespace quell::actors
