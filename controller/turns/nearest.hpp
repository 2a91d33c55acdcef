// "Did you mean": the known word that is nearest to what somebody wrote. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quell::controller::turns {

/// The first of `known` with the smallest edit distance; "" of none. Looks at the first 64 bytes of `word`.
std::string nearest(std::string_view word, const std::vector<std::string>& known);
/// `a, b and c`; at most ten of them, then how many more there are.
std::string listed(const std::vector<std::string>& names);

} // namespace quell::controller::turns
