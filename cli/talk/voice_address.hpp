// The address of a voice gateway: [tls://|tcp://]HOST:PORT. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell::cli {

struct voice_address {
  std::string host; ///< without brackets
  std::string port;
  bool is_tls = false;

  std::string text() const { return (is_tls ? "tls://" : "tcp://") + host + ":" + port; }
};

/// `is_tls` holds for an address without a scheme; nullopt: it is not an address.
std::optional<voice_address> read_voice_address(std::string_view text, bool is_tls);

} // namespace quell::cli
