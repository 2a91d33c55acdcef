// The handle to an actor for which other threads have messages until its end.
#pragma once

#include <caf/all.hpp>
#include <condition_variable>
#include <cstddef>
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

  /// `make` makes the message. After the end it is not called. No lock is held meanwhile: an actor that has died by
  /// itself refuses the message, and its destruction may send here again.
  template <caf::message_priority Priority = caf::message_priority::normal, class Make>
  void send(const Make& make) {
    const sending now(*this);
    if (now.to) caf::anon_send<Priority>(now.to, make());
  }

  /// Ends the actor, and waits until it is gone and no message is on its way to it. False: it was ended before. Not for
  /// an actor's thread, nor for the destructor of a message.
  bool end() {
    Actor actor;
    {
      const std::lock_guard lock(guard_);
      actor = std::exchange(to_, nullptr);
    }
    if (!actor) return false;
    const caf::scoped_actor self(system_);
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    self->wait_for(actor);
    std::unique_lock lock(guard_);
    none_sends_.wait(lock, [this] { return senders_ == 0; });
    return true;
  }

 private:
  /// Sending uses the system, so the end waits for it.
  class sending {
   public:
    explicit sending(held_actor& of) : of_(of) {
      const std::lock_guard lock(of_.guard_);
      to = of_.to_;
      ++of_.senders_;
    }
    ~sending() {
      to = nullptr;
      const std::lock_guard lock(of_.guard_);
      if (--of_.senders_ == 0) of_.none_sends_.notify_all();
    }
    sending(const sending&) = delete;
    sending& operator=(const sending&) = delete;

    Actor to; ///< nullptr: it has ended

   private:
    held_actor& of_;
  };

  caf::actor_system& system_;
  const caf::actor_addr address_;
  std::mutex guard_;
  std::condition_variable none_sends_;
  std::size_t senders_ = 0;
  Actor to_; ///< nullptr: it has ended
};

} // namespace quell::actors
