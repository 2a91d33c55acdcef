// "Did you mean": finds the known word that is nearest to an unknown one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quell {

/// The first of `known` with the smallest edit distance; "" if there is none. Reads the first 64 bytes of `word`.
std::string nearest(std::string_view word, const std::vector<std::string>& known);
/// `a, b and c`; at most ten of them, then the number of the others.
std::string listed(const std::vector<std::string>& names);

} // namespace quell
