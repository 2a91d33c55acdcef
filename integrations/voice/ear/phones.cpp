// Edit distance with costs by families of phones.
#include "integrations/voice/ear/phones.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace quell::ear {

namespace {

constexpr std::string_view vowels = " AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW ";
constexpr std::array<std::string_view, 7> consonants{
    " P B ", " T D ", " K G ", " F V TH DH ", " S Z SH ZH CH JH ", " M N NG ", " L R W Y "};

bool holds(std::string_view family, const std::string& phone) {
  return family.find(" " + phone + " ") != std::string_view::npos;
}

double replacing(const std::string& a, const std::string& b) {
  constexpr double other_vowel = 0.5, like_consonant = 0.4;
  if (a == b) return 0;
  if (holds(vowels, a) && holds(vowels, b)) return other_vowel;
  const bool is_like = std::any_of(consonants.begin(), consonants.end(),
                                   [&](std::string_view family) { return holds(family, a) && holds(family, b); });
  return is_like ? like_consonant : 1;
}

} // namespace

double phone_distance(const phones& a, const phones& b) {
  if (a.empty() && b.empty()) return 0;
  std::vector<double> last(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<double>(j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = static_cast<double>(i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      next[j + 1] = std::min({last[j] + replacing(a[i], b[j]), last[j + 1] + 1, next[j] + 1});
    std::swap(last, next);
  }
  return last[b.size()] / static_cast<double>(std::max(a.size(), b.size()));
}

} // namespace quell::ear
