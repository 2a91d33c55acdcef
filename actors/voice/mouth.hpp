// Text to speech: a task below the exchange speaks one answer, and its audio is sent at the speed of listening, one
// second ahead, so that a stop never leaves minutes of it buffered elsewhere. It also tells when the answer has been
// heard: a client plays each chunk as it comes, behind the ones before it. On the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/piped_task.hpp"
#include "actors/voice/callers.hpp"
#include "actors/voice/voice_context.hpp"
#include "integrations/voice/pace.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class mouth : public std::enable_shared_from_this<mouth> {
 public:
  struct hooks {
    std::function<void(std::string_view samples)> chunk;
    std::function<void(const std::string& failure)> over; ///< "" = everything was sent
    /// After `over`: what was sent has been heard, as far as that is known. It can come once more after `delayed`.
    std::function<void()> played;
  };
  /// `begins`: the client hears something else until then.
  mouth(voice_context_ref house, boot_time begins, hooks h)
      : context_(std::move(house)), hooks_(std::move(h)), pace_(begins) {}

  void speak(const operation_id& exchange, const speaker& who, const std::string& text, double speed);
  /// Stops at once and finally.
  void hush();
  /// This many samples, sent before, reach the client only now.
  void delayed(std::size_t samples);
  /// When the client will have heard what was sent so far.
  boot_time audible_until() const { return pace_.audible_until(); }

 private:
  void pump();
  void give_up();
  void wait_until_played();

  const voice_context_ref context_;
  hooks hooks_;
  std::shared_ptr<turns::piped_task> task_;
  std::string waiting_;            ///< samples
  std::optional<std::string> end_; ///< of the task: the reason of its failure, or ""
  integrations::voice::pace pace_;
  std::uint64_t waits_ = 0; ///< counts the timers for the end of the hearing; only the newest one counts
  bool is_pumping_ = false, is_hushed_ = false, is_over_ = false;
};

} // namespace quell::controller::voice
