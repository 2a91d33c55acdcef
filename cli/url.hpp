// Query strings: percent-encoding and joining. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quell::cli {

using query = std::vector<std::pair<std::string, std::string>>;

/// Everything except unreserved characters as %XX.
std::string percent_encoded(std::string_view text);
/// `path?k=v&k=v`; pairs with an empty value are omitted.
std::string with_query(std::string path, const query& parameters);
/// The base address without a trailing slash; "" if it is not http:// or https:// with a host.
std::string base_address(std::string_view url);

} // namespace quell::cli
