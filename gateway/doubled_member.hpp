// Finds a member that a JSON text gives twice: readers differ in which one they take, so the sender may have meant the
// other one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell::controller::http {

/// The JSON pointer (RFC 6901) of the first member whose name its object already has, however the name is escaped.
/// `text` must be valid JSON; of invalid JSON only what comes before the error is looked at. O(n log n) time.
std::optional<std::string> doubled_member(std::string_view text);

} // namespace quell::controller::http
