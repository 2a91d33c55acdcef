// An MCP server over streamable HTTP.
//
// Owns one thread and its connections; listeners, replies, late_results and hooks are called on that thread and must
// only hand over. A late that is already known is delivered on the thread of the caller that asks for it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "integrations/mcp/credentials.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

struct mcp_http_options {
  std::string ca_file; ///< PEM of authorities; "": QUELL_CA_FILE, else CURL_CA_BUNDLE, else the system's
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds handshake_timeout{30'000}; ///< for the handshake, and for each page of tools
  std::chrono::milliseconds call_timeout{0};           ///< a whole call; 0: none, the caller's timer cancels
  std::chrono::milliseconds cancel_timeout{5'000};     ///< for delivering a cancel, and for the goodbye
  /// Retries of the handshake and of a page of tools. A call is never sent again unless the server refused it unread
  /// because its session no longer existed.
  std::uint32_t retries = 3;
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{10'000};
  std::shared_ptr<mcp_credentials> credentials{}; ///< source of the token, if `key` is ""
};

/// `name`: the server's name in the configuration. `key`: sent as a bearer token, "" = none; never in a fault or a log.
/// The destructor says goodbye (DELETE of the session, waits at most `cancel_timeout`); it must not run on the server's
/// own thread, that is from a listener. Fault: not an http(s) URL, or a key that is not valid in a header.
result<std::unique_ptr<mcp_server>> mcp_http_server(std::string name, std::string url, std::string key,
                                                    mcp_http_options options = {}, mcp_hooks hooks = {});

} // namespace quell::integrations
