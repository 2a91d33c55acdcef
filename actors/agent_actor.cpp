// Reply and sub-agent actors: one handler per message, around an agent.
#include "actors/agent_actor.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <map>

#include "actors/agent/agent.hpp"
#include "actors/interfaces.hpp"
#include "actors/own_exit.hpp"
#include "actors/tool_actor.hpp"

namespace quell::actors {

namespace {

class actor_loop;

struct agent_state {
  caf::actor_addr parent;
  agent_start start;
  std::unique_ptr<actor_loop> loop;
  std::unique_ptr<agent> it;
  std::uint64_t timer = 0;
  std::optional<boot_time> timer_at;
  bool is_over = false;
};

using agent_pointer = agent_actor::stateful_pointer<agent_state>;

class actor_loop final : public agent_loop {
 public:
  explicit actor_loop(agent_pointer self) : self_(self) {}

  std::function<void(std::function<void()>)> poster() override {
    return [handle = caf::actor_cast<agent_actor>(self_)](std::function<void()> what) {
      caf::anon_send(handle, answer_arrived{std::move(what)});
    };
  }
  boot_time now() override { return self_->state.start.clock(); }
  void start_tool(call_number number, const operation_id& call, std::unique_ptr<tool_work> work) override {
    tools_[number] = spawn_tool(*self_, {number, call, self_->state.it->call(number), self_->state.start.port,
                                         std::move(work), caf::actor_cast<agent_actor>(self_)});
  }
  void stop_tool(call_number number, const std::string& reason) override {
    if (const auto at = tools_.find(number); at != tools_.end())
      self_->send<caf::message_priority::high>(at->second, cancel_now{abort_reason::user, reason});
  }
  void over() override {
    self_->state.is_over = true;
    self_->state.start.over(agent_exit::finished);
    self_->quit();
  }
  void forget(call_number number) { tools_.erase(number); }
  /// A linked tool has exited; one that ended by itself has no reason. The exit of the parent is this actor's, too.
  /// Foreign and repeated exits change nothing.
  void exited(const caf::exit_msg& m) {
    if (!m.reason) return;
    const auto dead =
        std::find_if(tools_.begin(), tools_.end(), [&](const auto& tool) { return tool.second.address() == m.source; });
    if (dead == tools_.end()) {
      if (ends_actor(self_, m, self_->state.parent)) self_->quit(m.reason);
      return;
    }
    const auto number = dead->first;
    tools_.erase(dead);
    self_->state.it->tool_broke(number);
  }

 private:
  agent_pointer self_;
  std::map<call_number, tool_actor> tools_;
};

/// Timers cannot be cancelled, so each one carries a number that identifies a timer that has been replaced.
void arm(agent_pointer self) {
  auto& s = self->state;
  if (s.is_over) return;
  const auto next = s.it->next_tick();
  if (!next || (s.timer_at && *s.timer_at <= *next)) return;
  s.timer_at = next;
  const auto wait = std::max(*next - s.start.clock(), std::chrono::nanoseconds{0});
  self->delayed_send(self, wait, turn_ticked{++s.timer});
}

agent_actor::behavior_type agent_behavior(agent_pointer self, const std::shared_ptr<agent_start>& start,
                                          const caf::actor_addr& parent) {
  auto& s = self->state;
  s.parent = parent;
  s.start = std::move(*start);
  s.loop = std::make_unique<actor_loop>(self);
  s.it = std::make_unique<agent>(s.start.limits, *s.start.texts, *s.start.port, *s.loop);
  if (s.start.resumes)
    s.it->resume(std::move(s.start.so_far), s.start.known, std::move(s.start.calls), std::move(s.start.past));
  else
    s.it->begin(std::move(s.start.so_far));
  self->set_exit_handler([self](const caf::exit_msg& m) {
    self->state.loop->exited(m);
    arm(self);
  });
  arm(self);
  return {
      [self](const cancel_now& m) { self->state.it->stop(m.why, m.reason); },
      [self](const call_cancelled& m) {
        self->state.it->call_stopped(m.call, m.reason);
        arm(self);
      },
      [self](const on_human_decision& m) {
        self->state.it->human_decided(m.call, m.how, m.reason, m.input);
        arm(self);
      },
      [self](const call_waits& m) {
        self->state.it->call_waits(m.call, m.what);
        arm(self);
      },
      [self](const tool_over& m) {
        self->state.loop->forget(m.number);
        self->state.it->tool_over(m.number, m.stands);
        arm(self);
      },
      [self](const answer_arrived& m) {
        m.handle();
        arm(self);
      },
      [self](const turn_ticked& m) {
        if (m.generation != self->state.timer) return;
        self->state.timer_at.reset();
        self->state.it->tick();
        arm(self);
      },
  };
}

} // namespace

namespace {

/// Reaches the agent through the actors above it.
class actor_handle final : public agent_handle {
 public:
  actor_handle(supervisor_actor above, agent_ref which) : above_(std::move(above)), which_(std::move(which)) {}
  void stop(abort_reason why, const std::string& reason) override { tell_urgently(cancel_now{why, reason}); }
  void stop_call(const operation_id& call, const std::string& reason) override {
    tell_urgently(call_cancelled{call, reason});
  }
  void decide(const operation_id& call, approval_outcome how, const std::string& reason,
              const std::optional<std::string>& input) override {
    caf::anon_send(above_, tell_agent{which_, on_human_decision{call, how, reason, input}});
  }
  void waits(const operation_id& call, human_wait what) override {
    caf::anon_send(above_, tell_agent{which_, call_waits{call, what}});
  }
  void die() override { tell_urgently(leave_now{}); }

 private:
  template <class Message>
  void tell_urgently(Message what) {
    caf::anon_send<caf::message_priority::high>(above_, tell_agent{which_, std::move(what)});
  }
  const supervisor_actor above_;
  const agent_ref which_;
};

} // namespace

agent_actor spawn_agent_actor(caf::scheduled_actor& above, std::shared_ptr<agent_start> start) {
  return above.spawn<caf::linked>(agent_behavior, std::move(start), above.address());
}

std::shared_ptr<agent_handle> spawn_agent(const supervisor_actor& above, scope_path scope, agent_start start) {
  auto which = std::make_shared<const agent_name>(agent_name{std::move(scope)});
  auto broke = [over = start.over] { over(agent_exit::died); };
  auto shared = std::make_shared<agent_start>(std::move(start));
  caf::anon_send<caf::message_priority::high>(above, begin_agent{which, [shared] { return shared; }, std::move(broke)});
  return std::make_shared<actor_handle>(above, std::move(which));
}

} // namespace quell::actors
