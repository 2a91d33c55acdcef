// The instant inside of an id that a client has chosen for a new object.
#pragma once

#include <chrono>

#include "controller/orders.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

/// Throws `bad_id` if that instant is more than `id_window` away from now. Any thread.
inline void need_recent_instant(wall_time of_id) {
  const auto distance = of_id - std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  if (distance > id_window || distance < -id_window)
    throw from_errors(
        {{error_code::bad_id, "/id",
          "carries an instant more than 12 h away from now; make a fresh UUIDv7, and check both clocks"}});
}

} // namespace quell::controller::http
