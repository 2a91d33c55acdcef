// Control frames of one worker on their way from the socket's thread to the controller actor.
//
// Each worker has its own queue and at most one message in the actor's mailbox. That message says that the queue is not
// empty, and it is sent again for as long as that is so. The actor therefore takes one portion from each worker in
// turn: however much one worker sends, an order in the mailbox waits for at most one portion of each.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol/messages.hpp"

namespace quell::actors {

struct arrived_frame {
  std::string route;
  std::string public_key;
  wire::envelope content;
  boot_time arrived{};
  std::uint32_t unsupported_version = 0; ///< not 0: a hello of another protocol version, with empty content
};

/// Thread safe.
class frame_queue {
 public:
  static constexpr std::size_t portion = 64;

  enum class outcome : std::uint8_t { announce, queued, full };
  /// `announce`: send the actor a message about this queue. `full`: the frame is dropped; the sender will repeat it if
  /// it is numbered.
  outcome put(arrived_frame f, std::size_t encoded_bytes) {
    const std::lock_guard lock(guard_);
    if (!frames_.empty() && bytes_ + encoded_bytes > most_bytes) return outcome::full;
    bytes_ += encoded_bytes;
    frames_.emplace_back(std::move(f), encoded_bytes);
    return std::exchange(announced_, true) ? outcome::queued : outcome::announce;
  }

  /// Returns at most `portion` frames, in order. Call `more` after processing them.
  std::vector<arrived_frame> take() {
    const std::lock_guard lock(guard_);
    std::vector<arrived_frame> taken;
    while (!frames_.empty() && taken.size() < portion) {
      bytes_ -= frames_.front().second;
      taken.push_back(std::move(frames_.front().first));
      frames_.pop_front();
    }
    return taken;
  }
  /// True: announce the queue again. False: the next `put` will ask for an announcement.
  bool more() {
    const std::lock_guard lock(guard_);
    announced_ = !frames_.empty();
    return announced_;
  }

 private:
  static constexpr std::size_t most_bytes = 32 * 1024 * 1024; // several hellos of the maximum size

  std::mutex guard_;
  std::deque<std::pair<arrived_frame, std::size_t>> frames_;
  std::size_t bytes_ = 0;
  bool announced_ = false;
};

} // namespace quell::actors
