// Levenshtein distance for short words, in one row.
#include "protocol/nearest.hpp"

#include <algorithm>

namespace quell {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  const auto begin = word.substr(0, 64);
  const auto at = std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return distance(begin, a) < distance(begin, b);
  });
  return at == known.end() ? std::string() : *at;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  const auto shown = std::min(names.size(), most);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text.empty() ? "none" : text;
}

} // namespace quell
