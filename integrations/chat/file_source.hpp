// The files of a message that a service keeps: what they are, and the way to their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

struct offered_file {
  std::string name, type;               ///< as the service says; each possibly ""
  std::optional<std::uint64_t> bytes{}; ///< the same
  std::string place{};                  ///< the connector's own: an address or an id; never shown
  friend bool operator==(const offered_file&, const offered_file&) = default;
};

struct file_limits {
  milliseconds time{30'000};
  std::size_t bytes = 0;
};

/// Fetches the files of one message. Any thread. It can outlive its connector, and then does nothing.
class file_source {
 public:
  virtual ~file_source() = default;
  /// Fetches as `number`, which the caller gives, each once. `done` is called once on another thread; never after
  /// `stop`, nor after the connector's end. The fault's sentence is for people and the model, and has no secrets.
  virtual void fetch(std::uint64_t number, const offered_file& file, const file_limits& limits,
                     std::function<void(result<std::string>)> done) = 0;
  /// Ends the fetch with this number, also before it began.
  virtual void stop(std::uint64_t number) = 0;
  /// Says it in the chat, as an answer to the message.
  virtual void tell(const std::string& sentence) = 0;
};

} // namespace quell::integrations::chat
