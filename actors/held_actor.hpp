// The handle to an actor for which other threads have messages until its end.
#pragma once

#include <caf/all.hpp>
#include <mutex>
#include <utility>

namespace quell::actors {

/// Any thread. `system` must live until the actor's end.
template <class Actor>
class held_actor {
 public:
  held_actor(caf::actor_system& system, Actor actor)
      : system_(system), address_(actor.address()), to_(std::move(actor)) {}
  /// Ends the actor, unless `end` has done so, and does not wait for it.
  ~held_actor() {
    if (to_) caf::anon_send_exit(to_, caf::exit_reason::user_shutdown);
  }
  held_actor(const held_actor&) = delete;
  held_actor& operator=(const held_actor&) = delete;

  /// Keeps nothing alive.
  caf::actor_addr address() const { return address_; }

  /// `make` makes the message, one at a time for all threads. After the end it is not called.
  template <caf::message_priority Priority = caf::message_priority::normal, class Make>
  void send(const Make& make) {
    const std::lock_guard lock(guard_);
    if (to_) caf::anon_send<Priority>(to_, make());
  }

  /// Ends the actor and waits until it is gone. False: it was ended before. Not for an actor's thread.
  bool end() {
    Actor actor;
    {
      const std::lock_guard lock(guard_);
      actor = std::exchange(to_, nullptr);
    }
    if (!actor) return false;
    const caf::scoped_actor self(system_);
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    self->wait_for(actor);
    return true;
  }

 private:
  caf::actor_system& system_;
  const caf::actor_addr address_;
  std::mutex guard_;
  Actor to_; ///< nullptr: it has ended
};

} // namespace quell::actors
