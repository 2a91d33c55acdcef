// Text to speech: a task below the exchange speaks one answer, and its audio is sent at the speed of listening, one
// second ahead, so that a stop never leaves minutes of it buffered elsewhere. On the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/piped_task.hpp"
#include "actors/voice/callers.hpp"
#include "actors/voice/voice_context.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class mouth : public std::enable_shared_from_this<mouth> {
 public:
  struct hooks {
    std::function<void(std::string_view samples)> chunk;
    std::function<void(const std::string& failure)> over; ///< "" = everything was sent
  };
  mouth(voice_context_ref house, hooks h) : context_(std::move(house)), hooks_(std::move(h)) {}

  void speak(const operation_id& exchange, const speaker& who, const std::string& text, double speed);
  /// Stops at once and finally.
  void hush();

 private:
  void pump();
  void give_up();

  const voice_context_ref context_;
  hooks hooks_;
  std::shared_ptr<turns::piped_task> task_;
  std::string waiting_;            ///< samples
  std::size_t sent_ = 0;           ///< bytes
  std::optional<std::string> end_; ///< of the task: the reason of its failure, or ""
  boot_time began_{};
  bool is_pumping_ = false, is_hushed_ = false, has_spoken_ = false;
};

} // namespace quell::controller::voice
