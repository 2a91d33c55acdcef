// Which answer a message is to what an agent asks.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/ask_user.hpp"

using namespace quell::controller::turns;
using nlohmann::json;

namespace {

json values(const std::vector<std::string>& choices, const std::string& text) {
  json input{{"question", "Which one?"}};
  if (!choices.empty()) input["choices"] = choices;
  return json::parse(values_of_message(answer_form(input), text));
}

} // namespace

TEST_CASE("a choice is named by its words or its number, whatever their case, width and last sign", "[ask_user]") {
  const std::vector<std::string> colours{"the red one", "the blue one"};
  for (const auto* text : {"the blue one", " The BLUE one.\n", "2", "2.", "２", "the blue one!!"})
    CHECK(values(colours, text) == json{{"answer", "the blue one"}});
  for (const auto* text : {"blue", "3", "0", "neither", "."})
    CHECK(values(colours, text) == json{{"answer", text}, {"in_own_words", true}});
  CHECK(values({}, " anything at all. ") == json{{"answer", "anything at all."}});
}

TEST_CASE("the words of a choice count before the number of another, and its signs before none", "[ask_user]") {
  CHECK(values({"10", "1", "2"}, "2") == json{{"answer", "2"}});
  CHECK(values({"10", "1", "2"}, "3") == json{{"answer", "2"}});
  CHECK(values({"!", "?"}, "?") == json{{"answer", "?"}});
  CHECK(values({"yes", "yes!"}, "yes!") == json{{"answer", "yes!"}});
}
