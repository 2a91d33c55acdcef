// Rejects request heads that quell and a proxy in front of it could read differently. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/problem.hpp"

namespace quell::controller::http {

struct request_head {
  std::vector<std::string> hosts;     ///< each `Host`
  std::vector<std::string> encodings; ///< each `Transfer-Encoding`
  std::size_t lengths = 0;            ///< the number of `Content-Length` fields
};

/// The problem of a head, if it has one.
std::optional<problem> wrong_head(const request_head& head);

/// The problem of a `Host` that is not a name of this quelld. A page whose own name resolves to this address (DNS
/// rebinding) sends that name; such a page's name cannot be an address, a name without a dot, or `localhost`. `own`:
/// lower case. `is_certified`: whether the certificate of this connection covers that name.
std::optional<problem> foreign_host(const std::string& host, const std::vector<std::string>& own,
                                    const std::function<bool(const std::string&)>& is_certified);

/// The name in `HOST`, `HOST:PORT`, `[v6]:PORT` or a URL, in lower case and without a final dot.
std::string host_name(std::string_view text);

} // namespace quell::controller::http
