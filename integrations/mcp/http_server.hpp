// An MCP server over streamable HTTP.
//
// It owns one thread and its connections; listeners, replies, lates and hooks are called on that thread and must only
// hand over. A late that is known already is told on the thread of who asks for it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "integrations/mcp/credentials.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

struct mcp_http_options {
  std::string ca_file; ///< PEM of trusted authorities; "": QUELL_CA_FILE, else CURL_CA_BUNDLE, else the system's
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds handshake_timeout{30'000}; ///< for each of handshake and one page of tools
  std::chrono::milliseconds call_timeout{0};           ///< a call as a whole; 0: none, the caller's timer cancels
  std::chrono::milliseconds cancel_timeout{5'000};     ///< for the delivery of a cancel, and for the goodbye
  /// Of the handshake and of a page of tools. A call is never sent twice, unless the server had refused it unread, its
  /// session being gone.
  std::uint32_t retries = 3;
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{10'000};
  std::shared_ptr<mcp_credentials> credentials{}; ///< whose token is sent if there is no key
};

/// `name`: how the configuration calls it. `key`: sent as a bearer token, "" = none; never in a fault or a log.
/// The end of the server says goodbye (DELETE of the session, not waited for longer than `cancel_timeout`); it must not
/// be dropped on its own thread, that is from a listener. Fault: no http(s) URL, a key that no header can hold.
result<std::unique_ptr<mcp_server>> mcp_http_server(std::string name, std::string url, std::string key,
                                                    mcp_http_options options = {}, mcp_hooks hooks = {});

} // namespace quell::integrations
