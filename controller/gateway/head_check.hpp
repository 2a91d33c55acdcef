// What the head of a request must not say: what we and somebody before us could read differently. Pure.
#pragma once

#include <optional>
#include <string>
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

} // namespace quell::controller::http
