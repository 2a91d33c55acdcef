// The join line `qwj1.…` that `quell worker add` prints and `quell-worker --join` takes. It is a secret: it holds the
// worker's key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell {

struct join_line {
  std::string worker;                         ///< the enrolled name
  std::vector<std::string> control_endpoints; ///< tcp://HOST:PORT, tried in order
  std::vector<std::string> bulk_endpoints;    ///< same order
  std::string server_public_key;              ///< Z85
  std::string worker_secret_key;              ///< Z85; "" if the worker made its own key (`worker add --key`)

  friend bool operator==(const join_line&, const join_line&) = default;
};

/// `qwj1.` and the base64url of a length-prefixed list of the fields with a checksum, so that a cut or mistyped line
/// can be told from a wrong one.
std::string to_text(const join_line& line);
/// Fault `bad_join`: says whether the text is not a join line, cut short, mistyped, or of a newer version.
result<join_line> parse_join(std::string_view text);

} // namespace quell
