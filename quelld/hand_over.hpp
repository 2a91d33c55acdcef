// The last message to the controller's actor before a planned stop.
#pragma once

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
  constexpr std::chrono::seconds stop_patience{10};
  auto handed_over = std::make_shared<std::promise<void>>();
  auto told = std::make_shared<std::atomic<bool>>(false);
  auto done = handed_over->get_future();
  caf::anon_send(to, actors::shut_down{[handed_over, told] {
                   if (!told->exchange(true)) handed_over->set_value();
                 }});
  if (done.wait_for(stop_patience) == std::future_status::ready) return;
  told->store(true);
  spdlog::warn("the handover was not durable within 10 s: workers keep the lease they have");
}

} // namespace quell::controller
