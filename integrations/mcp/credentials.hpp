// Whose token an MCP server over HTTP is sent. Any thread.
#pragma once

#include <functional>
#include <string>

namespace quell::integrations {

class mcp_credentials {
 public:
  virtual ~mcp_credentials() = default;
  /// What is sent now as a bearer token; "" = none. A secret. Never blocks.
  virtual std::string token() = 0;
  /// The server did not take `used` ("" = there was none): with `status` 401, or 403, and this WWW-Authenticate.
  /// `done` once, on any thread, perhaps before this returns: true = there is another token now, one more try is worth
  /// it.
  virtual void refused(std::string used, long status, std::string challenge, std::function<void(bool)> done) = 0;
};

} // namespace quell::integrations
