// Looks at three bytes at most, so bytes that are not UTF-8 are hardly held up.
#include "actors/turns/whole_characters.hpp"

#include <algorithm>

#include "protocol/utf8.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t most_looked_at = 3;

} // namespace

std::size_t begun_character(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min(most_looked_at, bytes.size()); ++back) {
    const char c = bytes[bytes.size() - back];
    if (continues_character(c)) continue;
    const auto first = static_cast<unsigned char>(c);
    const std::size_t whole = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : first >= 0xc0U ? 2 : 1;
    return whole > back ? back : 0;
  }
  return 0;
}

std::size_t rest_of_character(std::string_view bytes) { return character_boundary(bytes.substr(0, most_looked_at), 0); }

std::size_t leave_begun_character(output_reader::slice& slice) {
  const auto begun = slice.end ? 0 : begun_character(slice.bytes);
  slice.bytes.resize(slice.bytes.size() - begun);
  return begun;
}

void skip_rest_of_character(output_reader::slice& slice) {
  const auto rest = rest_of_character(slice.bytes);
  slice.bytes.erase(0, rest);
  slice.offset += rest;
}

} // namespace quell::controller::turns
