// The audit: who did what, kept by time and chained, so that an entry that was changed, added or taken out is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/time.hpp"

namespace quell::storage {

struct audit_record {
  std::uint64_t n = 0; ///< 1, 2, 3 … without gaps
  wall_time at{};
  std::optional<cancel_id> cancel;
  std::string data;     ///< JSON text: that of the event of type `audit`
  std::string previous; ///< the hash of the entry before
  std::string hash;     ///< `audit_hash` of this one
  friend bool operator==(const audit_record&, const audit_record&) = default;
};

/// What stands before the first entry: 64 zeros.
std::string audit_origin();
/// SHA-256, hex, of `previous`, the number, the instant in milliseconds since 1970 and the data, with a newline between
/// each two. Throws std::runtime_error where the library cannot hash.
std::string audit_hash(const audit_record& entry);

/// How long entries are kept; 0 = for ever. The store drops older ones as it writes new ones. Call once the store is
/// open.
result<void> keep_audit(const std::string& directory, milliseconds keep);

} // namespace quell::storage
