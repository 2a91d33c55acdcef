// Rare events of a worker: hello, a dead guardian, leaving, dying and coming back. Mirrors
// worker/session_loop_life.cpp.
#include <algorithm>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace std::chrono_literals;
using namespace quell::worker;
using phase = controller_session::phase;

worker_host::worker_host(world& w, std::size_t number)
    : world_(w), number_(number), random_(w.plan.seed, 600 + number), machine_(w, number, w.plan.ppm[number + 1]),
      key_("key-of-w" + std::to_string(number + 1)), state_id_("state-" + std::to_string(number)),
      slots_(w.plan.slots[number]), level_(static_cast<containment>(random_.below(count_of<containment>()))) {
  key_.resize(40, '.');
}

void worker_host::start() {
  if (life_ || rebooting_) return;
  if (!machine_.empty()) { // the guardian that it launches first clears the leftovers of an earlier life
    machine_.sweep();
    world_.events.after(20 * ms, [this] { start(); });
    return;
  }
  ++lives_;
  const bool left_before = doubt_ == machine_.boot_id || machine_.guardian_was_killed();
  doubt_ = left_before ? machine_.boot_id : "";
  machine_.launch();
  life_ = std::make_unique<life>(stored_, slots_, level_);
  life_->left_before = left_before;
  life_->incarnation = id_of<incarnation_id>(now().wall, mix(world_.plan.seed, mix(700 + number_, lives_)));
  inbox_.clear();
  frozen_ = false;
  turn_at_.reset();
  world_.net.reset(number_);
  world_.note(world_.name(number_), [&] { return "starts, life " + std::to_string(lives_); });
  world_.truth.worker_started(number_);
  wake();
}

void worker_host::keep_session() {
  session_state_changed();
  auto& session = life_->session;
  if (!session.stuck() && session.hello_due(boot())) greet();
  if (session.stuck()) {
    world_.note(world_.name(number_), [&] { return "gives up: " + session.stuck()->message; });
    world_.truth.worker_gave_up(number_, session.stuck()->message);
    machine_.worker_died();
    return process_ended();
  }
  const auto& m = session.member();
  if (session.at() == phase::open && m.seq_seen > stored_.seq_seen && boot() - life_->stored_at > 5s) {
    life_->stored_at = boot();
    stored_ = m;
  }
}

void worker_host::greet() {
  world_.net.reset(number_);
  inbox_.clear();
  wire::hello h;
  h.software = "simulated";
  h.boot_id = machine_.boot_id;
  h.state_id = state_id_;
  h.incarnation = life_->incarnation;
  h.life = lives_;
  h.proposed = id_of<session_id>(now().wall, mix(world_.plan.seed, mix(800 + number_, ++sessions_)));
  h.slots = slots_;
  h.level = level_;
  h.host = world_.name(number_);
  h.absence_is_proof = !life_->left_before && !life_->guardian_died;
  auto later = life_->table.describe(h);
  world_.note(world_.name(number_), [&] {
    std::string text = "says hello; inventory:";
    for (const auto& item : h.inventory) text += " " + world_.label(item.operation);
    text += "; results:";
    for (const auto& r : h.results) text += " " + world_.label(r.operation);
    return text;
  });
  life_->session.greet(std::move(h), boot());
  for (auto& r : later) life_->session.tell(std::move(r), boot());
}

void worker_host::session_state_changed() {
  const phase is = life_->session.at();
  const phase was = std::exchange(life_->shown, is);
  if (was == is) return;
  if (is == phase::open) {
    stored_ = life_->session.member();
    life_->stored_at = boot();
    if (std::exchange(life_->left_before, false) && life_->cut_off.empty()) doubt_.clear();
    world_.note(world_.name(number_), [&] { return std::string("has a session"); });
  } else if (was == phase::open) {
    world_.note(world_.name(number_), [&] { return "session over: " + life_->session.why_ended(); });
  }
}

void worker_host::renew_guardian(int tries) {
  if (tries == 0) {
    life_->session.end("the guardian is gone", boot());
    session_state_changed();
    life_->sweeping = true;
    life_->guardian_died = true;
    doubt_ = machine_.boot_id;
    wire::hello there;
    (void)life_->table.describe(there, 0);
    for (const auto& item : there.inventory) life_->cut_off.push_back(item.operation);
  }
  machine_.sweep();
  if (!machine_.empty()) {
    if (tries > 500) { // the sweep does not succeed: the worker gives up, and its next life sweeps again
      machine_.worker_died();
      return process_ended();
    }
    world_.events.after(10 * ms, [this, tries, lives = lives_] {
      if (life_ && lives == lives_) renew_guardian(tries + 1);
    });
    return;
  }
  life_->sweeping = false;
  effects list;
  life_->table.swept(now(), list);
  machine_.launch();
  perform(list);
  auto& session = life_->session;
  if (const auto base = session.lease().base()) machine_.lease(*base, session.lease().length());
  world_.note(world_.name(number_), [] { return std::string("has a new guardian"); });
  wake();
}

void worker_host::leave(bool at_once) {
  if (!life_ || frozen_ || life_->sweeping) return;
  life_->leave_requested += at_once ? 2 : 1;
  world_.note(world_.name(number_), [] { return std::string("leaves"); });
  world_.truth.worker_leaves(number_);
  effects list;
  using enum worker::task_table::departure;
  life_->table.leave(now(), life_->leave_requested > 1 ? immediate : with_grace, list);
  perform(list);
  wake();
}

bool worker_host::leave_done() {
  if (life_->leave_requested == 0 || life_->table.live() > 0) return false;
  if (!life_->all_ended_at) life_->all_ended_at = boot();
  const auto waited = boot() - *life_->all_ended_at;
  const bool apart = life_->session.at() != phase::open;
  const bool has_sent_farewell = apart && life_->farewell_at;
  if (life_->table.unstored() > 0 && !has_sent_farewell && waited < (apart ? 3s : 10s)) return false;
  if (!apart) {
    if (!life_->farewell_at) {
      life_->session.tell(wire::farewell{"the worker was stopped"}, boot());
      send();
      life_->farewell_at = boot();
    }
    if (!life_->session.drained() && boot() - *life_->farewell_at < 1s) return false;
  }
  if (life_->session.member().cluster) stored_ = life_->session.member();
  machine_.worker_died();
  return true;
}

void worker_host::crash() {
  if (!life_) return;
  world_.note(world_.name(number_), [] { return std::string("crashes"); });
  machine_.worker_died();
  process_ended();
}

void worker_host::end_life() {
  life_.reset();
  inbox_.clear();
  frozen_ = false;
  turn_at_.reset();
  ++turn_order_;
  world_.net.close(number_);
}

void worker_host::process_ended() {
  end_life();
  world_.events.after(pause_, [this] { start(); });
}

void worker_host::freeze(bool is) {
  if (!life_ || frozen_ == is) return;
  frozen_ = is;
  world_.note(world_.name(number_), [is] { return std::string(is ? "freezes" : "thaws"); });
  turn_at_.reset();
  ++turn_order_;
  if (!is) wake();
}

void worker_host::reboot(instant down_for) {
  if (rebooting_) return;
  rebooting_ = true;
  world_.note(world_.name(number_), [] { return std::string("its machine reboots"); });
  machine_.reboot();
  end_life();
  world_.truth.machine_rebooted(number_);
  world_.events.after(down_for, [this] {
    rebooting_ = false;
    start();
  });
}

bool worker_host::idle() const {
  // A removed worker keeps its results forever: no controller accepts them.
  if (!world_.controller.lets_in(number_)) return machine_.empty();
  return life_ && !frozen_ && life_->table.live() == 0 && life_->table.unstored() == 0 && machine_.empty();
}

} // namespace quell::simulation
