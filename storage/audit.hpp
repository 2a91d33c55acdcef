// The audit: a record of who did what, kept by time and chained, so that a changed, added or removed entry is detected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/records/audit_record.hpp"
#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/time.hpp"
#include "storage/record_names.hpp"

namespace quell::storage {

/// The `previous` of the first entry: 64 zeros.
std::string audit_origin();
/// SHA-256, hex, of `previous`, the number, the instant in milliseconds since 1970 and the data, separated by newlines.
/// Throws std::runtime_error if the library cannot hash.
std::string audit_hash(const audit_record& entry);

/// Sets how long entries are kept; 0 = for ever. The store drops older entries as it writes new ones. Call when the
/// store is open.
result<void> keep_audit(const std::string& directory, milliseconds keep);

} // namespace quell::storage
