// Supplies the token that is sent to an MCP server over HTTP. Any thread.
#pragma once

#include <functional>
#include <string>

namespace quell::integrations {

class mcp_credentials {
 public:
  virtual ~mcp_credentials() = default;
  /// The bearer token to send now; "" = none. Secret. Never blocks.
  virtual std::string token() = 0;
  /// The server refused `used` ("" = no token was sent) with `status` 401 or 403 and this WWW-Authenticate. Calls
  /// `done` once, on any thread, possibly before this returns; true = there is a new token, so one more attempt makes
  /// sense.
  virtual void refused(std::string used, long status, std::string challenge, std::function<void(bool)> done) = 0;
};

} // namespace quell::integrations
