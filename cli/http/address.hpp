// The text of a request on the wire: the parts of its URL, and its head.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "cli/http.hpp"

namespace quell::cli {

struct web_address {
  bool is_tls = false;
  std::string host; ///< a name or an address, without brackets and zone
  std::string zone; ///< of a link-local IPv6 address: an interface; usually ""
  std::string port;
  std::string authority; ///< as the URL writes host and port: the value of `Host`
  std::string target;    ///< path and query

  bool operator==(const web_address&) const = default;
};

/// The parts of an absolute http or https URL, or what is wrong with it.
tl::expected<web_address, std::string> parse_address(std::string_view url);

/// The head of `request` with its empty line. The error says which header cannot be sent.
tl::expected<std::string, std::string> request_head(const http_request& request, const web_address& address);

} // namespace quell::cli
