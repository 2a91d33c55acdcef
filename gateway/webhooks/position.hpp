// The position of a webhook's deliveries, in a small file of the state directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/fault.hpp"

namespace quell::controller::webhooks {

/// `<state>/webhooks/<name>`: the id of the last event that was delivered or given up, as decimal text. Written
/// completely or not at all.
class position_file {
 public:
  position_file(const std::string& state_directory, const std::string& name);
  /// nullopt: there is none yet. Fault `storage_unavailable`: the file cannot be read or has other content.
  result<std::optional<std::uint64_t>> read() const;
  result<void> write(std::uint64_t position) const;

 private:
  std::string folder_, path_;
};

} // namespace quell::controller::webhooks
