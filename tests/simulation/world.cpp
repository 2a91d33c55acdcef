// One scenario from its beginning to rest: the schedule is played, then all faults end, and every accepted cancel must
// settle.
#include "tests/simulation/world.hpp"

#include <algorithm>
#include <cstdio>

namespace quell::simulation {

namespace {
/// Longer than any lease, handover, grace and bound after the last fault.
constexpr instant longest_settling = 150 * seconds;
} // namespace

world::world(scenario s, bool traced)
    : plan(std::move(s)), tracing(traced), ids(plan.seed, 5000), truth(*this), disk(*this), net(*this),
      controller(*this), people(*this), turns(*this), chat(*this), voices(*this), callers(*this),
      turn_scheduler(*this) {
  playing = this;
  for (std::size_t i = 0; i < plan.workers; ++i) workers.push_back(std::make_unique<worker_host>(*this, i));
}

void world::violate(std::string invariant, std::string what) {
  if (broken) return;
  note("INVARIANT", [&] { return invariant + ": " + what; });
  broken = violation{std::move(invariant), std::move(what), events.now()};
}

void world::add_note(const std::string& who, const std::string& text) {
  char when[32];
  std::snprintf(when, sizeof when, "%12.6f  ", static_cast<double>(events.now()) / 1e9);
  std::string line = when + who;
  line.resize(std::max<std::size_t>(line.size() + 1, 26), ' ');
  trace_.push_back(line + text);
}

std::string world::label(const operation_id& id) {
  return operation_labels_.try_emplace(id, "o" + std::to_string(operation_labels_.size() + 1)).first->second;
}
std::string world::label(const cancel_id& id) {
  return cancel_labels_.try_emplace(id, "c" + std::to_string(cancel_labels_.size() + 1)).first->second;
}

void world::perform(const scheduled& s) {
  note("schedule", [&] { return describe(s); });
  auto& w = *workers[s.worker];
  const auto later = [this](instant when, std::function<void()> what) { events.after(when, std::move(what)); };
  switch (s.what) {
  case act::start:
    return people.start(s);
  case act::start_nested_now:
    return people.start_below_something(s);
  case act::cancel_operation:
  case act::cancel_scope:
  case act::cancel_owner:
  case act::cancel_everything:
  case act::cancel_unknown:
  case act::cancel_again:
    return people.cancel(s);
  case act::drain:
    return people.drain(s);
  case act::resume:
    return people.resume(s.worker);
  case act::remove:
    return people.remove(s);
  case act::declare_operation:
  case act::declare_worker:
    return people.declare(s);
  case act::break_link:
    return net.break_link(s.worker);
  case act::partition:
    net.block(s.worker, heading::up, true);
    net.block(s.worker, heading::down, true);
    return later(s.lasts, [this, s] {
      net.block(s.worker, heading::up, false);
      net.block(s.worker, heading::down, false);
    });
  case act::cut_up:
  case act::cut_down: {
    const auto which = s.what == act::cut_up ? heading::up : heading::down;
    net.block(s.worker, which, true);
    return later(s.lasts, [this, s, which] { net.block(s.worker, which, false); });
  }
  case act::crash_controller:
    if (s.salt % 3 == 0) return controller.crash(s.lasts);
    return controller.crash_after(mix(s.salt) % 12, s.lasts);
  case act::hand_over:
    return controller.hand_over(s.lasts);
  case act::crash_worker:
    w.restart_after(s.lasts);
    return w.crash();
  case act::leave_worker:
    w.restart_after(s.lasts);
    return w.leave(s.salt % 4 == 0);
  case act::kill_guardian:
    return w.host().kill_guardian();
  case act::freeze_worker:
    w.freeze(true);
    return later(s.lasts, [&w] { w.freeze(false); });
  case act::reboot_machine:
    return w.reboot(s.lasts);
  case act::step_wall:
    return w.host().clock.step_wall(static_cast<std::int64_t>(mix(s.salt) % 240'000) - 120'000);
  case act::slow_disk:
    disk.slow(true);
    return later(s.lasts, [this] { disk.slow(false); });
  case act::full_disk:
    disk.full(true);
    return later(s.lasts, [this] { disk.full(false); });
  case act::broken_disk:
    disk.broken(true);
    return later(s.lasts, [this] { disk.broken(false); });
  case act::limit_slots:
    return people.limit_slots(s);
  case act::count_:
    return;
  }
}

bool world::run_until(instant limit, const std::function<bool()>& done) {
  while (!failed()) {
    if (events.ran() % 64 == 0 && done()) return true;
    if (!events.step(limit)) return done();
  }
  return false;
}

bool world::quiet() const {
  if (!controller.is_up() || !controller.quiet() || people.waiting() > 0 || chat.waiting() > 0) return false;
  if (!truth.all_over() || !truth.cancels_settled()) return false;
  return std::all_of(workers.begin(), workers.end(), [](const auto& w) { return w->idle(); });
}

outcome_of_run world::play() {
  controller.start();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    people.enrol(i);
    events.at(static_cast<instant>(mix(plan.seed, i) % 300) * ms, [this, i] { workers[i]->start(); });
  }
  chat.plan();
  callers.plan();
  for (const auto& s : plan.schedule) events.at(s.at + 300 * ms, [this, s] { perform(s); });
  run_until(plan.active + 300 * ms, [] { return false; });

  note("schedule", [] { return std::string("everything is healed"); });
  net.heal();
  controller.spare();
  disk.slow(false);
  disk.full(false);
  disk.broken(false);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i]->freeze(false);
    workers[i]->host().release_stuck();
    people.enrol(i);
  }
  const auto settled = [this] {
    return controller.is_up() && people.waiting() == 0 && chat.waiting() == 0 && callers.waiting() == 0 &&
           truth.cancels_settled();
  };
  if (!run_until(events.now() + longest_settling, settled))
    violate("liveness", "150 s after the last fault these are not settled:" + truth.unsettled());
  if (!run_until(events.now() + longest_settling, [this] { return turns.forgotten().empty(); }) &&
      !truth.writes_failed())
    violate("not lost", "150 s after the last fault nobody has begun turn " + turns.forgotten());
  if (!run_until(events.now() + longest_settling, [this] { return turns.left_by_its_actor().empty(); }))
    violate("death of an actor", "150 s after the last fault it lives: " + turns.left_by_its_actor());
  if (!run_until(events.now() + longest_settling, [this] { return callers.are_answered(); }))
    violate("one answer to a 07", "150 s after the last fault a client waits for its answer");
  callers.leave();
  if (!run_until(events.now() + longest_settling, [this] { return voices.forgotten().empty(); }))
    violate("exchange ends", "150 s after all clients have left " + voices.forgotten() + " lives");
  people.cancel_everything();
  if (!run_until(events.now() + longest_settling, [this] { return quiet(); })) {
    std::string busy;
    for (const auto& w : workers)
      if (!w->idle()) busy += " " + w->key().substr(7, w->key().find('.') - 7);
    violate("liveness", "150 s after a cancel of everything there is still life:" + truth.unsettled() +
                            (busy.empty() ? "" : "; workers:" + busy));
  }
  if (!failed()) truth.check_the_end();
  if (!failed()) turns.check_the_end();

  outcome_of_run out;
  out.broken = broken;
  out.trace = std::move(trace_);
  out.events = events.ran();
  out.operations = truth.operations();
  out.cancels = people.cancels();
  out.runs = truth.runs();
  out.messages = chat.message_count();
  out.exchanges = voices.exchanges();
  out.restarts = controller.lives();
  return out;
}

} // namespace quell::simulation
