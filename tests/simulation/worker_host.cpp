// The worker's loop. This code mirrors worker/session_loop.cpp; all decisions are production code.
#include "tests/simulation/worker_host.hpp"

#include <algorithm>

#include "protocol/codec.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace std::chrono_literals;
using namespace quell::worker;
using phase = controller_session::phase;

moment worker_host::now() const { return machine_.clock.now(world_.events.now()); }
boot_time worker_host::boot() const { return machine_.clock.boot(world_.events.now()); }

session_id worker_host::session() const { return life_ ? life_->session.id() : session_id{}; }

void worker_host::receive(std::string bytes) {
  if (!life_) return;
  inbox_.push_back(std::move(bytes));
  wake();
}

void worker_host::wake() {
  if (life_ && !frozen_) at_turn(world_.events.now() + random_.between(2, 60) * us);
}

void worker_host::at_turn(instant when) {
  if (turn_at_ && *turn_at_ <= when) return;
  turn_at_ = when;
  world_.events.at(when, [this, order = ++turn_order_] {
    if (order != turn_order_ || !life_ || frozen_) return;
    turn_at_.reset();
    turn();
  });
}

void worker_host::turn() {
  if (life_->sweeping) return; // the loop is inside the sweep
  keep_session();
  if (!life_) return;
  send();
  hear_guardian();
  if (!life_ || life_->sweeping) return;
  hear_controller();
  for (const auto& operation : std::exchange(life_->finished, {})) {
    effects list;
    life_->table.output_finished(operation, {}, now(), list);
    perform(list);
  }
  effects list;
  life_->table.tick(now(), list);
  life_->table.pump(now(), 16, list);
  perform(list);
  life_->session.tick(boot());
  life_->session.acknowledge();
  send();
  if (leave_done()) return process_ended();
  arm();
}

/// Schedules the next turn of the loop that time alone triggers.
void worker_host::arm() {
  if (!life_ || frozen_) return;
  boot_time until = life_->session.next_tick();
  if (const auto tick = life_->table.next_tick()) until = std::min(until, *tick);
  if (life_->leave_requested > 0) until = std::min(until, boot() + 100ms);
  if (life_->table.pumpable()) until = boot();
  if (const auto due = life_->session.due(); due && world_.net.connected(number_))
    until = std::min(until, *due > boot() ? *due : boot() + 10ms); // it waits for company, or the link is full
  at_turn(std::max(machine_.clock.when(until), world_.events.now() + 1 * us));
}

void worker_host::hear_guardian() {
  bool gone = false;
  for (const auto& event : machine_.receive()) {
    if (std::holds_alternative<guardian_gone>(event)) {
      gone = true;
      continue;
    }
    effects list;
    life_->table.hear(event, now(), list);
    perform(list);
  }
  if (gone) renew_guardian(0);
}

void worker_host::hear_controller() {
  auto& session = life_->session;
  if (session.at() == phase::open && session.lease().over(boot())) session.end("the lease is over", boot());
  for (int i = 0; i < 1000 && !inbox_.empty(); ++i) {
    const std::string bytes = std::move(inbox_.front());
    inbox_.pop_front();
    if (session.at() == phase::apart) continue;
    auto frame = wire::decode(bytes);
    if (!frame) {
      world_.violate("codec", "a frame of the controller cannot be read: " + frame.error().detail);
      return;
    }
    auto message = session.receive(std::move(*frame), boot());
    tell_lease();
    if (message) apply(std::move(*message));
  }
  if (session.at() != phase::apart && world_.net.connections(number_) > 1) session.end("the connection broke", boot());
  session_state_changed();
}

void worker_host::apply(wire::message m) {
  effects list;
  auto& session = life_->session;
  if (auto* order = std::get_if<wire::start>(&m)) {
    world_.note(world_.name(number_), [&] { return "takes the START of " + world_.label(order->operation); });
    world_.truth.start_arrived(number_, *order);
    life_->table.start(std::move(*order), now(), list);
  } else if (const auto* s = std::get_if<wire::stop>(&m)) {
    life_->table.stop(*s, now(), list);
    world_.note(world_.name(number_), [&] { return "applies stop " + std::to_string(s->seq); });
    world_.truth.stop_applied(number_, *s);
    session.applied();
    auto first = signals_before_acknowledgement(list);
    perform(first);
    session.acknowledge();
    send();
  } else if (const auto* r = std::get_if<wire::results_stored>(&m)) {
    life_->table.results_stored(*r);
    std::erase_if(life_->cut_off, [this](const operation_id& id) { return !life_->table.knows(id); });
    if (life_->cut_off.empty() && !life_->left_before) doubt_.clear();
  }
  session.applied();
  perform(list);
}

void worker_host::perform(effects& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    effect e = std::move(list[i]);
    if (auto* t = std::get_if<tell>(&e)) {
      life_->session.tell(std::move(t->body), boot());
    } else if (const auto* g = std::get_if<let_go>(&e)) {
      life_->table.go_result(g->operation, machine_.go(g->operation), now());
    } else if (auto* s = std::get_if<spawn_task>(&e)) {
      machine_.spawn(s->order);
    } else if (const auto* x = std::get_if<stop_request>(&e)) {
      machine_.stop(*x);
    } else if (const auto* h = std::get_if<hang_up>(&e)) {
      machine_.hang_up(h->operation);
    } else if (const auto* f = std::get_if<finish_output>(&e)) {
      world_.events.after(random_.long_tailed(50 * us, 200 * ms), [this, operation = f->operation, lives = lives_] {
        if (!life_ || lives != lives_) return;
        life_->finished.push_back(operation);
        wake();
      });
    } else if (const auto* l = std::get_if<look_at>(&e)) {
      machine_.look(l->operation);
    }
  }
}

void worker_host::tell_lease() {
  auto& session = life_->session;
  if (session.lease_changed()) machine_.lease(*session.lease().base(), session.lease().length());
}

void worker_host::send() {
  for (auto due = life_->session.due(); due && *due <= boot(); due = life_->session.due()) {
    const auto* frame = life_->session.next_frame();
    if (!world_.net.send_up(number_, wire::encode(*frame))) break;
    life_->session.sent();
  }
}

} // namespace quell::simulation
