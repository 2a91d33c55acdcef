// One try to get an answer, over the network or from a script, and what it reports to the call that made it.
//
// All of it on the client's thread. A try never decides about another one: it says what went wrong and ends.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "integrations/models/translator.hpp"

namespace quell::integrations {

using model_clock = std::chrono::steady_clock;

/// What a try tells. None of these ends the try's life at once: it may be told from inside the network library.
class attempt_host {
 public:
  virtual ~attempt_host() = default;
  /// Events in order; after `finished` nothing but `ended`.
  virtual void told(std::vector<model_event> events) = 0;
  /// Something came; `event`: of the answer itself, not of the connection only.
  virtual void alive(bool event) = 0;
  /// All but the last formality has come: see reply_reader.
  virtual void settled() = 0;
  virtual void failed(mishap what, model_usage usage) = 0;
  /// After `finished`: the try holds nothing any more.
  virtual void ended() = 0;
};

/// Dropping it closes what it holds, before the drop returns.
class attempt {
 public:
  virtual ~attempt() = default;
  /// When it wants to be called without anything having come.
  virtual model_clock::time_point wake() const { return model_clock::time_point::max(); }
  virtual void tick(model_clock::time_point /*now*/) {}
  /// A settled try is asked to finish with what it has.
  virtual void conclude() {}
  /// Tokens so far, for a try that is dropped.
  virtual model_usage usage() const = 0;
};

/// Makes the n-th try (from 1) for a call.
using attempt_maker = std::function<std::unique_ptr<attempt>(attempt_host& host, std::uint32_t number)>;

} // namespace quell::integrations
