// One model call from its first attempt to its last: deadlines, retries, usage. Pure except for the attempts that it
// makes: time and randomness are passed in.
#pragma once

#include <optional>

#include "integrations/models/attempt.hpp"
#include "integrations/models/call_line.hpp"

namespace quell::integrations {

/// The wait before attempt number `coming` (from 2): doubles from the first back-off to the longest, multiplied by 0.5
/// to 1 according to `random` (0 to below 1).
std::chrono::milliseconds backoff(const model_settings& settings, std::uint32_t coming, double random);

class running_call final : public attempt_host {
 public:
  using time_point = model_clock::time_point;

  /// `who` begins every fault's text: the model and its place.
  running_call(model_settings settings, std::string who, attempt_maker make, time_point now);
  /// A call that fails as soon as it is begun.
  running_call(fault why, time_point now);

  /// Connects the call before it runs: `line` gets the events, `random` gives randomness, `touched` says that `step` is
  /// due.
  void connect(std::shared_ptr<call_line> line, std::function<double()> random, std::function<void()> touched);

  /// Does all work that is due. Not callable from inside an attempt's report.
  void step(time_point now);
  /// The time at which `step` is due if nothing happens before; can be early.
  time_point next() const;
  bool over() const { return phase_ == phase::over; }

  void told(std::vector<model_event> events) override;
  void alive(bool event) override;
  void settled() override;
  void failed(provider_error what, model_usage usage) override;
  void ended() override;

 private:
  enum class phase : std::uint8_t { resting, waiting, streaming, settled, ending, over };
  void begin_try(time_point now);
  void after_mishap(time_point now);
  void give_up(fault why);
  void look_at_deadlines(time_point now);
  time_point deadline() const;

  model_settings settings_;
  std::string who_;
  attempt_maker make_;
  std::shared_ptr<call_line> line_;
  std::function<double()> random_;
  std::function<void()> touched_;
  time_point whole_end_; ///< deadline of all attempts together
  time_point rest_end_;  ///< end of a back-off
  time_point since_;     ///< start of the phase, or the last sign of life while streaming
  phase phase_ = phase::resting;
  std::uint32_t tries_ = 0;
  bool told_any_ = false; ///< text or a call was reported: a retry would repeat it
  bool ended_ = false;
  std::optional<provider_error> mishap_;
  std::optional<fault> early_fault_;
  model_usage usage_;            ///< of the attempts that are over
  std::unique_ptr<attempt> try_; ///< last: it reports to all members above
};

} // namespace quell::integrations
