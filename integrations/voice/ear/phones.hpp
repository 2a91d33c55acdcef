// How alike two sequences of phones sound. Pure.
#pragma once

#include <string>
#include <vector>

namespace quell::ear {

/// Phones of the CMU dictionary, without stress: `S T AA P`.
using phones = std::vector<std::string>;

/// From 0 (the same) to 1: the cheapest way from one to the other, divided by the length of the longer one. A phone
/// that sounds like another one (two vowels; d and t) costs about half.
double phone_distance(const phones& a, const phones& b);

} // namespace quell::ear
