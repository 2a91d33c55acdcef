// Short ids (SURFACE 1): the last 8 hex digits for people, any unique tail of at least 4 accepted. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quell::cli {

/// The last 8 digits; the whole text if it is shorter.
std::string short_id(std::string_view id);
/// 4 to 36 lower-case hex digits and dashes that could be the tail of an id.
bool is_id_tail(std::string_view text);
/// All 36 characters of a UUIDv7.
bool is_whole_id(std::string_view text);
/// The elements of `ids` that end in `tail` (dashes count as written; a tail without dashes also matches across them),
/// without duplicates.
std::vector<std::string> matching_ids(const std::vector<std::string>& ids, std::string_view tail);

} // namespace quell::cli
