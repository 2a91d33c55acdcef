// One model call from its first attempt to its last: its model's turn, deadlines, retries, fallback models, usage. Pure
// except for the attempts that it makes: time and randomness are passed in.
#pragma once

#include <optional>
#include <vector>

#include "integrations/models/attempt.hpp"
#include "integrations/models/call_listener.hpp"
#include "integrations/models/gate.hpp"

namespace quell::integrations {

/// The wait before attempt number `coming` (from 2): doubles from the first back-off to the longest, multiplied by 0.5
/// to 1 according to `random` (0 to below 1).
std::chrono::milliseconds backoff(const model_settings& settings, std::uint32_t coming, double random);

/// One model that a call can ask.
struct model_route {
  model_settings settings;
  std::string who; ///< begins every fault's text: the model and its place
  attempt_maker make;
  std::optional<fault> unusable; ///< asking it fails at once
  std::size_t request_bytes = 0;
};

class running_call final : public attempt_host {
 public:
  using time_point = model_clock::time_point;

  /// `routes`: at least one; the next is asked when one cannot answer.
  running_call(std::vector<model_route> routes, time_point now, model_share whose = {});

  /// Connects the call before it runs: `listening` gets the events, `random` gives randomness, `touched` says that
  /// `step` is due.
  void connect(std::shared_ptr<call_listener> listening, model_gate& gate, std::function<double()> random,
               std::function<void()> touched);

  /// Does all work that is due. Not callable from inside an attempt's report.
  void step(time_point now);
  /// The time at which `step` is due if nothing happens before; can be early.
  time_point next() const;
  bool over() const { return phase_ == phase::over; }

  void on_events(std::vector<model_event> events) override;
  void alive(sign_of_life what) override;
  void settled() override;
  void failed(provider_error what, model_usage usage) override;
  void ended() override;

 private:
  enum class phase : std::uint8_t { resting, queued, waiting, streaming, settled, ending, over };
  void begin_try(time_point now);
  bool may_begin(time_point now);
  void begin_route(time_point now);
  bool fall_back(const fault& why, time_point now);
  model_usage take_spent();
  model_usage priced(model_usage usage) const;
  model_usage estimated(model_usage usage, bool is_whole) const;
  std::string without_secrets(std::string text) const;
  const model_route& route() const { return routes_[at_]; }
  const model_settings& settings() const { return route().settings; }
  void after_error(time_point now);
  void give_up(fault why, time_point now);
  void look_at_deadlines(time_point now);
  time_point deadline() const;
  time_point queue_end() const;
  void note_usage();

  std::vector<model_route> routes_;
  const model_share whose_;
  std::size_t at_ = 0; ///< the route that is taken
  std::shared_ptr<call_listener> listening_;
  model_gate* gate_ = nullptr;
  std::function<double()> random_;
  std::function<void()> touched_;
  time_point whole_end_; ///< deadline of all attempts of this route together; waiting for the model's turn not counted
  time_point rest_end_;  ///< end of a back-off
  time_point since_;     ///< start of the phase, or the last sign of life while streaming
  std::chrono::milliseconds waited_{0}; ///< for turns at its models
  phase phase_ = phase::resting;
  std::uint32_t tries_ = 0;
  bool has_reported_ = false; ///< text or a call was reported: a retry would repeat it
  bool ended_ = false;
  std::optional<provider_error> provider_error_;
  model_usage usage_;                        ///< of the attempts that are over
  model_usage reported_usage_;               ///< of them, what the listener has heard of
  std::size_t received_bytes_ = 0;           ///< of text, thinking and calls of this attempt
  std::unique_ptr<model_gate::place> place_; ///< of this attempt, if its model is limited
  std::unique_ptr<attempt> try_;             ///< last: it reports to all members above
};

} // namespace quell::integrations
