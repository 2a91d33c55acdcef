// One attempt to get an answer, over the network or from a script, and its reports to the call that made it.
//
// Everything here runs on the client's thread. An attempt never decides about a retry: it reports its error and ends.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "integrations/models/translator.hpp"

namespace quell::integrations {

using model_clock = std::chrono::steady_clock;

/// Receives an attempt's reports. None of these calls may destroy the attempt at once: it can report from inside the
/// network library.
class attempt_host {
 public:
  virtual ~attempt_host() = default;
  /// Events in order; after `finished` only `ended` follows.
  virtual void on_events(std::vector<model_event> events) = 0;
  /// `event`: a part of the answer itself. `bytes`: others, such as a comment of its stream.
  enum class sign_of_life : std::uint8_t { bytes, event };
  virtual void alive(sign_of_life what) = 0;
  /// Only the formal end of the answer is missing: see reply_reader.
  virtual void settled() = 0;
  virtual void failed(provider_error what, model_usage usage) = 0;
  /// After `finished`: the attempt holds no resources any more.
  virtual void ended() = 0;
};

/// Destroying an attempt closes all that it holds before the destructor returns.
class attempt {
 public:
  virtual ~attempt() = default;
  /// The time of the next `tick` if nothing arrives before.
  virtual model_clock::time_point wake() const = 0;
  virtual void tick(model_clock::time_point now) = 0;
  /// Asks a settled attempt to finish with what it has.
  virtual void conclude() = 0;
  /// Tokens so far, for an attempt that is dropped.
  virtual model_usage usage() const = 0;
};

/// Makes the n-th attempt (from 1) of a call.
using attempt_maker = std::function<std::unique_ptr<attempt>(attempt_host& host, std::uint32_t number)>;

} // namespace quell::integrations
