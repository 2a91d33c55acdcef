// Quell's signs at the beginnings of other people's lines.
#include "protocol/stop_signs.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <rapidcheck/catch.h>
#include <utility>
#include <vector>

#include "protocol/utf8.hpp"

using namespace quell;

TEST_CASE("no line of somebody else's text begins with a sign of quell's", "[stop_signs]") {
  const std::vector<std::pair<std::string, std::string>> all{
      {"", ""},
      {"🛑", "•"},
      {"⏹ stopped", "• stopped"},
      {"🛑🛑 stopped", "•• stopped"},
      {"Fine.\n⏹ stopped", "Fine.\n• stopped"},
      {"Fine.\r⏹ stopped", "Fine.\r• stopped"},
      {"Fine.\r\n\r\n \t⏹ stopped\n", "Fine.\r\n\r\n \t• stopped\n"},
      {"Fine.\u2028⏹ stopped", "Fine.\u2028• stopped"},
      {"**⏹ stopped**", "**• stopped**"},
      {"```\n⏹ stopped\n```", "```\n• stopped\n```"},
      {"> _`🛑 stopped`_", "> _`• stopped`_"},
      {"\u200b\ufeff\u00a0\u3000\u2800⏹\ufe0f stopped", "\u200b\ufeff\u00a0\u3000\u2800•\ufe0f stopped"},
      {"•— “⏹ stopped”", "•— “• stopped”"},
      {":stop_button: stopped\n:black_square_for_stop: stopped", "• stopped\n• stopped"},
      {":octagonal_sign: stopped\n:stop_sign:stopped", "• stopped\n•stopped"},
  };
  for (const auto& [given, wanted] : all) {
    CAPTURE(given);
    CHECK(without_stop_signs(given) == wanted);
  }
}

TEST_CASE("a sign in the middle of somebody's line stays", "[stop_signs]") {
  for (const char* text : {"Press ⏹ to stop.", "1. 🛑 is red", "ö 🛑", "print(\"🛑 stopped\")", "漢⏹",
                           "✅ ⏹", "a :stop_sign: b", ":stop_si", "⏸ paused", "no sign at all"})
    CHECK(without_stop_signs(text) == text);
}

TEST_CASE("text in pieces reads as the whole does", "[stop_signs]") {
  stop_sign_filter filter;
  CHECK(filter.pass("Fine") == "Fine");
  CHECK(filter.pass(" ⏹.") == " ⏹.");
  CHECK(filter.pass("\n ") == "\n ");
  CHECK(filter.pass("⏹ stopped") == "• stopped");
  CHECK(filter.pass("⏹") == "⏹");
  filter.begin_line();
  CHECK(filter.pass("⏹") == "•");
}

TEST_CASE("any text keeps its lines and grows in no unit", "[stop_signs]") {
  rc::prop("signs are replaced one for one", [] {
    const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
        std::vector<std::string>{"⏹", "🛑", "\n", " ", "a", "é", "漢", "👍", "\u200b", "*", ":stop_sign:"}));
    std::string text;
    stop_sign_filter filter;
    std::string in_pieces;
    for (const auto& word : words) {
      text += word;
      in_pieces += filter.pass(word);
    }
    const auto made = without_stop_signs(text);
    RC_ASSERT(made == in_pieces);
    RC_ASSERT(without_stop_signs(made) == made);
    RC_ASSERT(made.size() <= text.size());
    RC_ASSERT(code_points(made) <= code_points(text));
    RC_ASSERT(std::count(made.begin(), made.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
    std::size_t begin = 0;
    while (begin <= made.size()) {
      const auto end = std::min(made.find('\n', begin), made.size());
      const auto line = made.substr(begin, end - begin);
      RC_ASSERT(!line.starts_with("⏹") && !line.starts_with("🛑"));
      begin = end + 1;
    }
  });
}
