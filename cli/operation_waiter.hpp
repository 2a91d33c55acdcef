// Waits for the end of one operation by long polls, across restarts of the controller.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/api.hpp"

namespace quell::cli {

class operation_waiter {
 public:
  struct callbacks {
    /// Called with each answer while the operation lives.
    std::function<void(const nlohmann::json& operation)> update;
    /// Called with its last state.
    std::function<void(const nlohmann::json& operation)> ended;
    /// The controller refuses (404, 403).
    std::function<void(const problem&)> refused;
    /// Contact was lost: returns the pause before another attempt, or nullopt to give up.
    std::function<std::optional<milliseconds>()> lost;
    std::function<void()> contact;
  };
  operation_waiter(api& controller, std::string operation, callbacks c);
  ~operation_waiter();
  operation_waiter(const operation_waiter&) = delete;
  operation_waiter& operator=(const operation_waiter&) = delete;

  enum class polls : std::uint8_t {
    of_full_length,
    short_while_pending, ///< to show the reason for its wait
  };
  void start(polls how);
  const std::string& operation() const { return operation_; }

 private:
  void poll(milliseconds wait);

  api& api_;
  std::string operation_;
  callbacks callbacks_;
  event_loop::handle call_ = 0, timer_ = 0;
  polls how_ = polls::of_full_length;
};

} // namespace quell::cli
