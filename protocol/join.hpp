// The join line `qwj1.…` that `quell worker add` prints and `quell-worker --join` takes. A secret: it holds the
// worker's key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell {

struct join_line {
  std::string worker;                         ///< the enrolled name
  std::vector<std::string> control_endpoints; ///< tcp://HOST:PORT, tried in turn
  std::vector<std::string> bulk_endpoints;    ///< same order
  std::string server_public_key;              ///< Z85
  std::string worker_secret_key;              ///< Z85; "" when the worker made its own key (`worker add --key`)

  friend bool operator==(const join_line&, const join_line&) = default;
};

/// `qwj1.` and base64url of a length-prefixed list of the fields with a checksum, so that a cut or mistyped line is
/// told apart from a wrong one.
std::string to_text(const join_line& line);
/// Fault `bad_join`: says whether it is no join line, cut short, mistyped, or of a newer version.
result<join_line> parse_join(std::string_view text);

} // namespace quell
