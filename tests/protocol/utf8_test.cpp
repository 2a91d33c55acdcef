// Characters of UTF-8: where they begin and end, and how many there are.
#include "protocol/utf8.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <string>

using namespace quell;

TEST_CASE("a byte continues a character if it is not the first of one", "[utf8]") {
  int continuing = 0;
  for (int byte = 0; byte < 256; ++byte)
    if (continues_character(static_cast<char>(byte))) {
      ++continuing;
      CHECK(byte >= 0x80);
      CHECK(byte <= 0xbf);
    }
  CHECK(continuing == 0x40);
}

TEST_CASE("texts are cut between characters of every length", "[utf8]") {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"; // of one, two, three and four bytes
  const std::size_t ends[] = {0, 1, 3, 6, 10};
  CHECK(code_points(text) == 4);
  for (std::size_t count = 0; count <= 6; ++count) {
    const auto end = ends[std::min<std::size_t>(count, 4)];
    CHECK(bytes_of_characters(text, count) == end);
    CHECK(without_characters(text, count) == text.substr(end));
  }
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const auto next = *std::lower_bound(std::begin(ends), std::end(ends), at);
    CHECK(character_boundary(text, at) == next);
    CHECK(utf8_prefix(text, at).size() == *(std::upper_bound(std::begin(ends), std::end(ends), at) - 1));
  }
  CHECK(bytes_of_characters("", 3) == 0);
  CHECK(character_boundary("\x80\x80", 0) == 2);
}
