// A model's lines beside quell's own words about a stop, on a terminal.
#include <catch2/catch.hpp>
#include <clocale>
#include <nlohmann/json.hpp>

#include "cli/text_flow.hpp"
#include "cli/turn_view.hpp"

using namespace quell::cli;

TEST_CASE("no line of a model's text begins with a sign of quell's, wherever the terminal breaks it") {
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  text_flow flow;
  flow.set_columns(12);
  CHECK(flow.add("Fine.\n⏹ stopped\n") == "Fine.\n• stopped\n");
  CHECK(flow.add("⏹ stop").empty());
  CHECK(flow.growing() == "• stop");
  CHECK(flow.end_line() == "• stop\n");
  CHECK(flow.add("eight by ⏹ stopped") == "eight by ⏹\n");
  CHECK(flow.end_line() == "stopped\n");
  CHECK(flow.add("elevencols ⏹ stopped") == "elevencols\n");
  CHECK(flow.growing() == "• stopped");
}

TEST_CASE("quell's words about a stop begin with a sign, a model's words do not") {
  CHECK(stop_line("stopped", character_set::utf8) == "⏹ stopped");
  CHECK(stop_line("stopped", character_set::ascii) == "stopped");
  const auto text_of_event = [](const char* text, nlohmann::json state) {
    return acknowledgement_text({{"text", text}, {"reaction", nullptr}, {"state", std::move(state)}});
  };
  CHECK(text_of_event("🛑 stopped", "stopped") == "🛑 stopped");
  CHECK(text_of_event("🛑 stopped", nullptr) == "• stopped");
}
