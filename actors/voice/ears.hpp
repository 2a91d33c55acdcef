// Speech to text: one recogniser per session, a task on a worker that is kept warm. If it ends, the next words start
// another, and some seconds later if it has reported nothing: a command that cannot run must not run for each piece of
// sound. On the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actors/turns/piped_task.hpp"
#include "actors/voice/callers.hpp"
#include "actors/voice/voice_context.hpp"
#include "integrations/voice/transcripts.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class ears : public std::enable_shared_from_this<ears> {
 public:
  struct hooks {
    /// It counts samples from here; `samples`: so many of those that it is to hear are on their way already.
    std::function<void(std::size_t samples)> begins;
    std::function<void(const integrations::voice::recognised&)> on_recognised;
    std::function<void(const std::string& why)> failed;
  };
  ears(voice_context_ref house, scope_path scope, hooks h)
      : context_(std::move(house)), scope_(std::move(scope)), hooks_(std::move(h)) {}

  void warm_up();
  /// False: it is so far behind that these samples are lost. They are lost, too, while no other may begin yet: `failed`
  /// has said so.
  bool hear(const std::string& samples);
  /// The session has ended: no more audio will come.
  void close();

 private:
  void begin(std::size_t samples);
  void over(const turns::piped_task* which, const std::string& why, bool was_stopped);

  const voice_context_ref context_;
  const scope_path scope_;
  hooks hooks_;
  std::shared_ptr<turns::piped_task> task_;
  integrations::voice::transcript_reader lines_;
  std::chrono::seconds wait_{0}; ///< before the one after the next
  boot_time may_begin_{};
};

} // namespace quell::controller::voice
