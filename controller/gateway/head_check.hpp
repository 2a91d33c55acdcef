// What the head of a request must not say: what we and somebody before us could read differently. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/gateway/problem.hpp"

namespace quell::controller::http {

struct request_head {
  std::vector<std::string> hosts;     ///< each `Host`
  std::vector<std::string> encodings; ///< each `Transfer-Encoding`
  std::size_t lengths = 0;            ///< how many `Content-Length`
};

/// The problem of a head, if it has one.
std::optional<problem> wrong_head(const request_head& head);

/// The problem of a `Host` that is nobody's name here. A page whose own name is made to point here (DNS rebinding) says
/// that name; an address, a name without a dot and `localhost` cannot be such a page's. `own`: lower case.
/// `is_certified`: whether the certificate of this connection is of that name.
std::optional<problem> foreign_host(const std::string& host, const std::vector<std::string>& own,
                                    const std::function<bool(const std::string&)>& is_certified);

/// The name in `HOST`, `HOST:PORT`, `[v6]:PORT` or a URL, in lower case and without a final dot.
std::string host_name(std::string_view text);

} // namespace quell::controller::http
