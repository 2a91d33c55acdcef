// Text to speech: a task below the exchange speaks one answer, and its audio is sent at the speed of listening, one
// second ahead, so that a stop never leaves minutes of it buffered elsewhere. On the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/turns/piped_task.hpp"
#include "controller/voice/callers.hpp"
#include "controller/voice/house.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class mouth : public std::enable_shared_from_this<mouth> {
 public:
  struct hooks {
    std::function<void(std::string_view samples)> chunk;
    std::function<void(const std::string& failure)> over; ///< "" = everything was sent
  };
  mouth(house_ref house, hooks h) : house_(std::move(house)), hooks_(std::move(h)) {}

  void speak(const operation_id& exchange, const speaker& who, const std::string& text, double speed);
  /// Stops at once and finally.
  void hush();

 private:
  void pump();
  void give_up();

  const house_ref house_;
  hooks hooks_;
  std::shared_ptr<turns::piped_task> task_;
  std::string waiting_;            ///< samples
  std::size_t sent_ = 0;           ///< bytes
  std::optional<std::string> end_; ///< of the task: the reason of its failure, or ""
  std::chrono::steady_clock::time_point began_{};
  bool is_pumping_ = false, is_hushed_ = false, has_spoken_ = false;
};

} // namespace quell::controller::voice
