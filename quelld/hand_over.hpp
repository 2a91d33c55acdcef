// The last messages to actors before a planned stop.
#pragma once

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "actors/interfaces.hpp"

namespace quell::controller {

/// Waits until the workers' handover is durable and its frames have left; at most 10 s.
inline void hand_over(const actors::controller_actor& to) {
  constexpr std::chrono::seconds stop_timeout{10};
  auto handover_done = std::make_shared<std::promise<void>>();
  auto is_confirmed = std::make_shared<std::atomic<bool>>(false);
  auto done = handover_done->get_future();
  caf::anon_send(to, actors::shut_down{[handover_done, is_confirmed] {
                   if (!is_confirmed->exchange(true)) handover_done->set_value();
                 }});
  if (done.wait_for(stop_timeout) == std::future_status::ready) return;
  is_confirmed->store(true);
  spdlog::warn("the handover was not durable within 10 s: workers keep the lease they have");
}

/// Ends an actor and waits until it is gone. Not for an actor's thread.
template <class Handle>
void end_actor(caf::actor_system& system, const Handle& actor) {
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  caf::scoped_actor waiting{system};
  waiting->wait_for(actor);
}

} // namespace quell::controller
