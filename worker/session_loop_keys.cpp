// The session loop's key changes. The connection under the next key is made while the present one still works, and the
// hello is sent on it at once: the gap for a cancel is one round trip at most, and messages sent into the gap are
// repeated after the welcome.
#include <spdlog/spdlog.h>

#include "worker/clocks.hpp"
#include "worker/session_loop.hpp"

namespace quell::worker {
namespace {

using namespace std::chrono_literals;
using phase = controller_session::phase;

constexpr auto connect_timeout = 5s;

} // namespace

bool session_loop::store_keys() {
  const auto stored = state_.store_keys(settings_.keys.text());
  if (!stored) complain("worker cannot store its keys: " + stored.error().detail);
  return stored.has_value();
}

// Stored on disk before it is offered: otherwise a crash would leave the controller with a key that nobody has.
void session_loop::begin_change() {
  const key_ring before = settings_.keys;
  settings_.keys.prepare(key_pair::generate());
  if (!store_keys()) {
    settings_.keys = before; // the request stays and is granted at the next start, or when it is repeated
    return;
  }
  state_.change_begun();
  spdlog::info("worker changes its key: {} is offered to the controller", *settings_.keys.offer());
  offer_key();
}

void session_loop::offer_key() {
  const auto offer = settings_.keys.offer();
  if (!offer || session_.at() != phase::open || connected_as_.public_key == *offer) return;
  if (!controller_takes_keys_)
    return complain("worker keeps its key: this controller does not know changes of keys; upgrade quelld");
  session_.tell(wire::key_offer{*offer}, boot_now());
}

void session_loop::hear_key_answer(const wire::key_taken& answer) {
  if (answer.public_key != settings_.keys.offer() || connected_as_.public_key == answer.public_key) return;
  if (!answer.refusal.empty()) {
    spdlog::error("worker keeps its key: the controller does not take the next one: {}", answer.refusal);
    settings_.keys.refuse(answer.refusal);
    next_control_.reset();
    (void)store_keys();
    return;
  }
  auto options = settings_.control;
  options.keys = *settings_.keys.next();
  options.server_public_key = connected_to_;
  auto next = client_socket::open(std::move(options));
  if (!next) return complain("worker cannot connect under its next key: " + next.error().detail);
  next_control_ = std::move(*next);
  next_control_since_ = boot_now();
}

void session_loop::move_to_next_key() {
  if (!next_control_) return;
  if (session_.at() != phase::open || farewell_at_) return next_control_.reset(); // the next session offers it again
  (void)next_control_->receive();
  if (!next_control_->connected()) {
    if (boot_now() - next_control_since_ < connect_timeout) return;
    next_control_->reset(); // the next address
    next_control_since_ = boot_now();
    return;
  }
  settings_.keys.use_next();
  connected_as_ = settings_.keys.own();
  session_.end("the worker moves to its next key", boot_now());
  session_state_changed();
  control_ = std::move(next_control_);
  say_hello();
  session_state_changed();
}

void session_loop::connect_anew() {
  const auto& keys = settings_.keys;
  if (keys.own().public_key == connected_as_.public_key && keys.controller() == connected_to_) return control_->reset();
  auto options = settings_.control;
  options.keys = keys.own();
  options.server_public_key = keys.controller();
  auto fresh = client_socket::open(std::move(options));
  if (!fresh) { // the old one is refused again, and then this is retried
    complain("worker cannot connect under another key: " + fresh.error().detail);
    return control_->reset();
  }
  control_ = std::move(*fresh);
  connected_as_ = keys.own();
  connected_to_ = keys.controller();
}

void session_loop::try_other_keys() {
  if (!settings_.keys.try_another()) return;
  session_.end("the controller refuses these keys; others are tried", boot_now());
}

// A controller that changes to its next key closes every connection. Waiting for unanswered heartbeats would delay
// stops.
void session_loop::follow_controller() {
  if (farewell_at_ || !settings_.keys.try_next_controller()) return;
  session_.end("the connection ended, maybe as the controller changes to its next key", boot_now());
  session_state_changed();
  greet();
}

void session_loop::keys_worked() {
  if (settings_.keys.worked()) {
    (void)store_keys(); // on failure the file keeps both keys, and the next start finds out which one is valid
    spdlog::info("worker goes by the key {}, the controller by {}", connected_as_.public_key, connected_to_);
  }
  if (const auto both = connected_as_.public_key + connected_to_; both != bulk_as_) {
    bulk_->use(connected_as_, connected_to_);
    bulk_as_ = both;
  }
  offer_key();
}

void session_loop::hear_controller_key(const std::string& public_key) {
  const key_ring before = settings_.keys;
  if (settings_.keys.learn_controller(public_key) && !store_keys()) {
    settings_.keys = before; // not confirmed: the controller sends it again with the next session
    return;
  }
  session_.tell(wire::controller_key_stored{public_key}, boot_now());
}

} // namespace quell::worker
