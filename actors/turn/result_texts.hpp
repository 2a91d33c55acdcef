// The results that a turn itself gives a call, as JSON texts; the implementation renders them in a room that knows
// JSON.
#pragma once

#include <chrono>
#include <string>

#include "protocol/approval_outcome.hpp"
#include "protocol/failure_code.hpp"

namespace quell::actors {

/// Pure functions of their arguments.
class result_texts {
 public:
  virtual ~result_texts() = default;
  /// The call ran and was stopped.
  virtual std::string cancelled() const = 0;
  /// The call never began.
  virtual std::string not_started() const = 0;
  virtual std::string timed_out(const std::string& tool, std::chrono::milliseconds limit) const = 0;
  /// A person denied the call.
  virtual std::string denied(const std::string& reason) const = 0;
  /// Nobody approved or denied the call in time; `reason` says how long it waited.
  virtual std::string undecided(const std::string& reason) const = 0;
  /// The call did not run.
  std::string not_approved(approval_outcome how, const std::string& reason) const {
    return how == approval_outcome::undecided ? undecided(reason) : denied(reason);
  }
  /// `{"ok":false,"error":{"code","message"}}`
  virtual std::string failed(const std::string& code, const std::string& message) const = 0;
  std::string failed(failure_code code, const std::string& message) const {
    return failed(std::string(name_of(code)), message);
  }
  /// A few KiB of a result, its beginning and its end; shorter ones as they are.
  virtual std::string shortened(const std::string& result, bool ok) const = 0;
  /// `result` with a note of quell for the model.
  virtual std::string noted(const std::string& result, const std::string& note) const = 0;
};

} // namespace quell::actors
