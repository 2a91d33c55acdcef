// Output that is read in pieces.
#include "actors/turns/whole_characters.hpp"

#include <catch2/catch.hpp>

#include "protocol/utf8.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

output_reader::slice slice_of(const std::string& bytes, bool end = false) {
  output_reader::slice s;
  s.offset = 10;
  s.bytes = bytes;
  s.end = end;
  return s;
}

} // namespace

TEST_CASE("text that is cut anywhere is shown in whole characters", "[turns][output]") {
  const std::string text = "aü€😀 b";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    auto first = slice_of(text.substr(0, cut));
    const auto begun = leave_begun_character(first);
    CHECK(is_utf8(first.bytes));
    CHECK(begun <= 3);
    CHECK(first.bytes.size() + begun == cut);
    auto tail = slice_of(text.substr(cut));
    skip_rest_of_character(tail);
    CHECK(is_utf8(tail.bytes));
    CHECK(tail.offset + tail.bytes.size() == 10 + text.size() - cut);
  }
}

TEST_CASE("what will never be a character is not waited for", "[turns][output]") {
  CHECK(begun_character("") == 0);
  CHECK(begun_character("ab") == 0);
  CHECK(begun_character("a\x80\x80\x80\x80") == 0);
  CHECK(begun_character("\xc3x") == 0);
  CHECK(rest_of_character("\x80\x80\x80\x80\x80") == 3);
  auto last = slice_of("gr\xc3", true);
  CHECK(leave_begun_character(last) == 0);
  CHECK(last.bytes == "gr\xc3");
}
