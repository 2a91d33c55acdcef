// One call of a model from the first try to the last: deadlines, retries, usage. Pure but for the tries that it makes:
// time and randomness are handed in.
#pragma once

#include <optional>

#include "integrations/models/attempt.hpp"
#include "integrations/models/call_line.hpp"

namespace quell::integrations {

/// How long to wait before try number `coming` (from 2): doubles from the first to the longest back-off, and lies
/// between half of that and all of it, as `random` (0 to below 1) says.
std::chrono::milliseconds backoff(const model_settings& settings, std::uint32_t coming, double random);

class running_call final : public attempt_host {
 public:
  using time_point = model_clock::time_point;

  /// `who` begins every fault's text: which model, where.
  running_call(model_settings settings, std::string who, attempt_maker make, time_point now);
  /// A call that fails as soon as it is begun.
  running_call(fault why, time_point now);

  /// What is to be known when it runs: where to tell, whom to ask for randomness, and whom to call when `step` is due.
  void connect(std::shared_ptr<call_line> line, std::function<double()> random, std::function<void()> touched);

  /// Does all that is due. Not from inside a try's report.
  void step(time_point now);
  /// When `step` is due if nothing happens before; it may be early.
  time_point next() const;
  bool over() const { return phase_ == phase::over; }

  void told(std::vector<model_event> events) override;
  void alive(bool event) override;
  void settled() override;
  void failed(mishap what, model_usage usage) override;
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
  time_point whole_end_; ///< of all tries together
  time_point rest_end_;  ///< of a back-off
  time_point since_;     ///< of the phase, or of the last sign of life while streaming
  phase phase_ = phase::resting;
  std::uint32_t tries_ = 0;
  bool told_any_ = false; ///< text or a call: from here on another try would repeat what was told
  bool ended_ = false;
  std::optional<mishap> mishap_;
  std::optional<fault> early_fault_;
  model_usage usage_;            ///< of the tries that are over
  std::unique_ptr<attempt> try_; ///< last: it reports to all of the above
};

} // namespace quell::integrations
