// One attempt of a scripted model: plays the steps of an answer on the client's thread, by its clock.
#pragma once

#include "integrations/models/attempt.hpp"
#include "integrations/models/history.hpp"
#include "integrations/models/script.hpp"

namespace quell::integrations {

class script_play final : public attempt {
 public:
  script_play(attempt_host& host, std::shared_ptr<const script> all, std::shared_ptr<const script_scene> scene,
              std::uint32_t number);
  model_clock::time_point wake() const override { return wake_; }
  void tick(model_clock::time_point now) override;
  void conclude() override {} // a script ends its answers itself
  model_usage usage() const override;

 private:
  /// Plays one step. Returns false if it waits for `wake_` or has ended the play.
  bool play(const script_steps::say& step, model_clock::time_point now);
  bool play(const script_steps::call& step, model_clock::time_point now);
  bool play(const script_steps::pause& step, model_clock::time_point now);
  bool play(const script_steps::hang& step, model_clock::time_point now);
  bool play(const script_steps::fail& step, model_clock::time_point now);
  void tell(model_event event);
  void finish();
  void stand_still() { wake_ = model_clock::time_point::max(); }

  attempt_host& host_;
  std::shared_ptr<const script> all_;
  std::shared_ptr<const script_scene> scene_;
  const script_answer* answer_;
  call_ids ids_;
  model_clock::time_point wake_; ///< initially in the past, so that the play begins at once
  std::size_t step_ = 0;
  std::string text_; ///< the filled text of the current `say` step
  std::size_t sent_ = 0;
  bool waited_ = false; ///< the current chunk's delay is over, or the current pause has begun
  std::uint64_t sent_bytes_ = 0;
  bool any_call_ = false;
};

} // namespace quell::integrations
