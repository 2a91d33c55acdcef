// The actor: one line per message; bursts of frames and creates share a transaction, a cancel ends its own at once.
#include "actors/controller_actor.hpp"

#include <caf/all.hpp>
#include <exception>
#include <malloc.h>
#include <utility>

#include "actors/own_exit.hpp"
#include "actors/posted_command.hpp"
#include "protocol/urgency.hpp"

namespace quell::controller {

namespace {

struct controller_state {
  std::unique_ptr<commit_gate> gate;
  std::uint64_t timer_generation = 0;
  std::optional<boot_time> timer_at;
  bool burst_over_sent = false;
  std::function<void()> when_down;
  std::shared_ptr<core_activity> activity;
};

using controller_pointer = actors::controller_actor::stateful_pointer<controller_state>;

constexpr std::chrono::milliseconds longest_sleep{1000};
/// For the order that follows another one at once: far more than that takes between two threads, so that the timer is
/// not due while they work. Each other order, frame or question ends the waiting, and nobody outside waits for it.
constexpr std::chrono::milliseconds wait_for_more{20};

/// Arms the timer for `next` (at most one second ahead). Timers cannot be cancelled, so the generation identifies an
/// outdated one.
void arm(controller_pointer self, std::optional<boot_time> next, moment now) {
  auto& s = self->state;
  auto at = now.boot + longest_sleep;
  if (next && *next < at) at = std::max(*next, now.boot);
  if (s.timer_at && *s.timer_at <= at && *s.timer_at > now.boot) return;
  s.timer_at = at;
  const auto generation = ++s.timer_generation;
  if (at <= now.boot)
    self->send(self, actors::clock_ticked{generation});
  else
    self->delayed_send(self, at - now.boot, actors::clock_ticked{generation});
}

void tick(controller_pointer self) {
  const auto now = clock_now();
  self->state.activity->note();
  self->state.timer_at.reset();
  arm(self, self->state.gate->tick(now), now);
}

/// After each message: its effects leave at the end of the burst, or a little later if more is about to come.
void after(controller_pointer self) {
  auto& s = self->state;
  if (!s.gate->dirty() || s.burst_over_sent) return;
  if (s.gate->expects_more()) {
    const auto now = clock_now();
    return arm(self, now.boot + wait_for_more, now);
  }
  s.burst_over_sent = true;
  self->send(self, actors::burst_over{});
}

/// A shutdown is complete when all pending effects have left.
void finish(controller_pointer self) {
  auto& s = self->state;
  if (!s.when_down || !s.gate->quiet()) return;
  std::exchange(s.when_down, nullptr)();
}

actors::controller_actor::behavior_type controller(controller_pointer self, const core_maker& make,
                                                   const std::shared_ptr<core_activity>& activity,
                                                   controller_thread on) {
  // Nobody could say what a message has left undone in memory, and a process without its core would take orders and
  // answer none: the next life recovers from disk.
  self->set_exception_handler([](std::exception_ptr&) -> caf::error { std::terminate(); });
  actors::end_by_own_exit(self);
  if (on == controller_thread::own) take_short_turns(turns_of::deciding);
  self->state.activity = activity;
  self->state.gate = make(clock_now());
  // Recovery reads every live row once and frees it again: return that memory (up to a gigabyte) to the system.
  ::malloc_trim(0);
  tick(self);
  return {
      [self](const actors::execute_command& m) {
        m.posted->mark.received();
        if (m.posted->claim && !m.posted->claim->take()) return;
        self->state.activity->note();
        self->state.gate->execute(std::move(m.posted->request), clock_now());
        after(self);
      },
      [self](const actors::ask_core& m) {
        self->state.gate->ask(m.what, clock_now());
        after(self);
      },
      [self](const actors::frames_arrived& m) {
        const auto now = clock_now();
        self->state.activity->note();
        for (const auto& f : m.from->take()) {
          if (f.unsupported_version)
            self->state.gate->unsupported_version(f.route, f.public_key, f.unsupported_version, now);
          else
            self->state.gate->frame(f.route, f.public_key, f.content, now, f.arrived);
        }
        // Goes behind the messages that have come meanwhile: frames of other workers, and orders.
        if (m.from->more()) self->send(self, m);
        after(self);
      },
      [self](const actors::batch_committed& m) {
        self->state.activity->note();
        records::commit_notice notice{m.ticket, {}};
        if (m.failed) notice.failure = fault{m.code, m.detail, {}};
        self->state.gate->committed(notice, clock_now());
        finish(self);
        after(self);
      },
      [self](const actors::shut_down& m) {
        const auto now = clock_now();
        self->state.activity->note();
        self->state.gate->workers().hand_over(now);
        self->state.gate->end_burst(now);
        self->state.when_down = m.done;
        finish(self);
      },
      [self](const actors::clock_ticked& m) {
        if (m.generation == self->state.timer_generation) tick(self);
      },
      [self](const actors::burst_over&) {
        self->state.burst_over_sent = false;
        // Ends a burst: places pending tasks, then submits.
        const auto now = clock_now();
        self->state.activity->note();
        arm(self, self->state.gate->end_burst(now), now);
        after(self);
      },
  };
}

} // namespace

actors::controller_actor spawn_controller(caf::actor_system& system, std::shared_ptr<core_activity> activity,
                                          core_maker make, controller_thread on) {
  return on == controller_thread::own
             ? system.spawn<caf::detached>(controller, std::move(make), std::move(activity), on)
             : system.spawn(controller, std::move(make), std::move(activity), on);
}

} // namespace quell::controller
