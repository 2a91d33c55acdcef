// The controller's actor, its timers and its deaths. Mirrors actors/controller_actor.cpp and wiring.cpp.
#include "tests/simulation/controller_host.hpp"

#include <algorithm>

#include "protocol/codec.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;

controller_host::controller_host(world& w)
    : world_(w), random_(w.plan.seed, 900), clock_(5000 * seconds, w.plan.ppm[0]) {}

moment controller_host::now() const { return clock_.now(world_.events.now()); }

void controller_host::start() {
  start_planned_ = false;
  if (gate_) return;
  auto recovered = world_.disk.open([this](const records::commit_notice& n) { committed(n); });
  if (!recovered) {
    world_.note("controller", [&] { return "cannot start: " + recovered.error().code; });
    world_.disk.crash();
    start_planned_ = true;
    world_.events.after(500 * ms, [this] { start(); });
    return;
  }
  ++lives_;
  dying_ = leaving_ = burst_over_sent_ = false;
  effects_left_.reset();
  timer_at_.reset();
  ++generation_;
  world_.note("controller", [&] {
    return "starts: epoch " + std::to_string(recovered->epoch) + ", next seq " + std::to_string(recovered->next_seq) +
           ", " + std::to_string(recovered->live.size()) + " live, " + std::to_string(recovered->open_cancels.size()) +
           " open cancels";
  });
  world_.truth.recovered(*recovered);
  world_.turns.recovered();
  if (world_.failed()) return;
  commit_gate_settings s;
  s.ledger.worker_lease = world_.plan.lease;
  s.ledger.longest_lease = world_.plan.handover;
  s.ledger.leaves_per_step = 20;
  s.ledger.max_slots_per_guild = world_.plan.guilds.of_each;
  s.ledger.max_slots_of_guilds = world_.truth.configured_limits();
  s.fleet.heartbeat = world_.plan.heartbeat;
  s.fleet.lease = world_.plan.lease;
  s.fleet.handover_lease = world_.plan.handover;
  s.token_for = [](const operation_id&) { return std::string("token"); };
  world_.net.listen();
  gate_ = std::make_unique<commit_gate>(std::move(s), std::move(*recovered), *this, now());
  world_.truth.controller_started();
  tick();
  if (world_.plan.chats) world_.turn_scheduler.start();
  end_handler();
}

bool controller_host::acts() {
  if (dying_) return false;
  if (effects_left_ && (*effects_left_)-- == 0) {
    world_.note("controller", [] { return std::string("dies in the middle of it"); });
    dying_ = true;
    effects_left_.reset();
    return false;
  }
  return true;
}

bool controller_host::answers() { return acts(); }

void controller_host::refusal_known(std::uint64_t ticket) {
  if (acts()) world_.disk.refusal_known(ticket);
}

std::uint64_t controller_host::submit(std::vector<records::entry> batch) {
  return acts() ? world_.disk.submit(std::move(batch)) : ~std::uint64_t{0} >> 1;
}

void controller_host::send(const outgoing_frame& f) {
  if (!acts()) return;
  std::string bytes = wire::encode(f.frame);
  world_.truth.frame_leaves(f);
  world_.net.send_down(f.route, std::move(bytes));
}

void controller_host::publish(const records::event_record& event) {
  if (!acts()) return;
  world_.truth.published(event);
  world_.turns.published(event);
  world_.turn_scheduler.on_event(event);
}

void controller_host::signal(const actor_signal& s) {
  if (world_.plan.chats && acts()) world_.turn_scheduler.signal(s);
}

void controller_host::ended(const ended_operation& e) {
  if (world_.plan.chats && acts()) world_.turn_scheduler.ended(e);
}

void controller_host::allow_keys(std::vector<std::string> public_keys) {
  if (!dying_) allowed_ = {public_keys.begin(), public_keys.end()};
}

void controller_host::output_closes(const operation_id& id) {
  if (acts()) world_.truth.output_closed(id);
}

void controller_host::tell_owner(const external_signal& signal) {
  if (acts()) world_.truth.owner_notified(signal);
}

void controller_host::move_forbidden(const forbidden_move& move, std::string_view requested_by) {
  world_.violate("forbidden_move", move.operation.text() + ": from " + std::string(move.from) + " to " +
                                       std::string(move.to) + ", asked by " + std::string(requested_by));
}

bool controller_host::storage_low() const { return world_.disk.low(); }

void controller_host::fail_stop(const fault& why) {
  if (dying_) return;
  world_.note("controller", [&] { return "stops: " + why.code; });
  dying_ = true;
}

bool controller_host::lets_in(std::size_t worker) const {
  return is_up() && allowed_.contains(world_.workers[worker]->key());
}

void controller_host::receive(std::size_t worker, const std::string& route, const std::string& bytes) {
  if (!is_up()) return;
  auto frame = wire::decode(bytes);
  if (!frame) return world_.violate("codec", "a frame of a worker cannot be read: " + frame.error().detail);
  ask([&](commit_gate& c, moment at) { c.frame(route, world_.workers[worker]->key(), *frame, at); });
}

bool controller_host::ask(const std::function<void(commit_gate&, moment)>& what) {
  if (!is_up()) return false;
  what(*gate_, now());
  after();
  end_handler();
  return true;
}

void controller_host::committed(const records::commit_notice& n) {
  if (!is_up()) return;
  gate_->committed(n, now());
  finish_hand_over();
  after();
  end_handler();
}

void controller_host::after() {
  if (!gate_->dirty() || burst_over_sent_) return;
  burst_over_sent_ = true;
  world_.events.after(random_.between(1, 120) * us, [this, life = lives_] {
    if (life == lives_ && is_up()) burst_over();
  });
}

void controller_host::burst_over() {
  burst_over_sent_ = false;
  arm(gate_->end_burst(now()));
  after();
  end_handler();
}

void controller_host::arm(std::optional<boot_time> next) {
  const auto at_now = now().boot;
  auto at = at_now + std::chrono::seconds{1};
  if (next && *next < at) at = std::max(*next, at_now);
  if (timer_at_ && *timer_at_ <= at && *timer_at_ > at_now) return;
  timer_at_ = at;
  world_.events.at(std::max(clock_.when(at), world_.events.now() + 1 * us), [this, g = ++generation_, life = lives_] {
    if (g != generation_ || life != lives_ || !is_up()) return;
    tick();
    end_handler();
  });
}

void controller_host::tick() {
  timer_at_.reset();
  arm(gate_->tick(now()));
}

/// The end of every message: if a planned crash came during it, the process ends now.
void controller_host::end_handler() {
  if (dying_) return die(false);
  if (!world_.failed()) world_.truth.controller_turned(*gate_);
}

void controller_host::crash(instant down_for) {
  if (!gate_) return;
  world_.note("controller", [] { return std::string("crashes"); });
  down_for_ = down_for;
  die(false);
}

void controller_host::crash_after(std::uint64_t effects, instant down_for) {
  if (!gate_) return;
  down_for_ = down_for;
  effects_left_ = effects;
}

void controller_host::die(bool orderly) {
  dying_ = true;
  world_.turn_scheduler.die();
  world_.net.controller_died(orderly);
  if (orderly)
    world_.disk.close();
  else
    world_.disk.crash();
  gate_.reset();
  ++generation_;
  // The process comes back on a machine that has just booted.
  if (random_.chance(100)) clock_.reboot(world_.events.now());
  if (std::exchange(start_planned_, true)) return;
  world_.events.after(down_for_, [this] { start(); });
}

void controller_host::hand_over(instant down_for) {
  if (!is_up() || leaving_) return;
  world_.note("controller", [] { return std::string("hands over"); });
  down_for_ = down_for;
  leaving_ = true;
  gate_->workers().hand_over(now());
  gate_->end_burst(now());
  finish_hand_over();
  if (gate_) {
    after();
    end_handler();
  }
}

void controller_host::finish_hand_over() {
  if (!leaving_ || dying_ || !gate_ || !gate_->quiet()) return;
  // The main thread learns of it and stops the rest.
  world_.events.after(random_.between(1, 30) * ms, [this, life = lives_] {
    if (life == lives_ && is_up()) die(true);
  });
  leaving_ = false;
}

} // namespace quell::simulation
