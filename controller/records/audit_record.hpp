// An entry of the audit: who did what, chained so that a changed, added or removed entry is noticed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/id.hpp"
#include "protocol/time.hpp"

namespace quell::records {

struct audit_record {
  std::uint64_t n = 0; ///< 1, 2, 3 … without gaps
  wall_time at{};
  std::optional<cancel_id> cancel;
  std::string data;     ///< JSON text: the data of the event of type `audit`
  std::string previous; ///< the hash of the previous entry
  std::string hash;     ///< `audit_hash` of this entry
  friend bool operator==(const audit_record&, const audit_record&) = default;
};

} // namespace quell::records
