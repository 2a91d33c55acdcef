// Standard input for the task: bytes as they arrive, one chunk in flight at a time, repeated from the same offset after
// a lost answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/api.hpp"

namespace quell::cli {

class input_forwarder {
 public:
  struct callbacks {
    std::function<std::optional<milliseconds>()> lost;
    std::function<void()> contact;
    /// The controller refuses more input, for this reason; forwarding has stopped.
    std::function<void(const problem&)> refused;
  };
  input_forwarder(api& controller, std::string operation, int descriptor, callbacks c);
  ~input_forwarder();
  input_forwarder(const input_forwarder&) = delete;
  input_forwarder& operator=(const input_forwarder&) = delete;

  void start();
  void stop();

 private:
  void read_some();
  void send();
  void again(milliseconds pause);

  api& api_;
  std::string operation_;
  int descriptor_;
  callbacks callbacks_;
  std::string chunk_;
  std::uint64_t offset_ = 0; ///< of the chunk's first byte
  bool at_end_ = false, stopped_ = false;
  event_loop::handle transfer_ = 0, timer_ = 0;
  static constexpr milliseconds first_slow_pause{25}, most_slow_pause{1000};
  milliseconds slow_pause_ = first_slow_pause;
};

} // namespace quell::cli
