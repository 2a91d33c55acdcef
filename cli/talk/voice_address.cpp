// Splits the scheme, the host and the port.
#include "cli/talk/voice_address.hpp"

#include <algorithm>

namespace quell::cli {

std::optional<voice_address> read_voice_address(std::string_view text, bool is_tls) {
  constexpr std::string_view encrypted = "tls://", plain = "tcp://";
  voice_address a;
  a.is_tls = is_tls;
  if (text.starts_with(encrypted) || text.starts_with(plain)) {
    a.is_tls = text.starts_with(encrypted);
    text.remove_prefix(encrypted.size());
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const bool is_number = std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (host.empty() || host.find('/') != std::string_view::npos || port.empty() || port.size() > 5 || !is_number)
    return std::nullopt;
  a.host = std::string(host);
  a.port = std::string(port);
  return a;
}

} // namespace quell::cli
