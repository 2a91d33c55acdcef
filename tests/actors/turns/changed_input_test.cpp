// Inputs that an approver changed: in a call's row, in what its model reads, and where an error in them lies.
#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/changed_input.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/tool_input.hpp"

using namespace quell;
using namespace quell::controller::turns;
using nlohmann::json;

namespace {

const std::string other_input = R"({"command":"ls"})";

std::string pointer_in(const std::string& input) {
  const auto tools = built_in_tools({});
  const auto exec = std::find_if(tools.begin(), tools.end(), [](const auto& t) { return t.offer.name == "exec"; });
  const auto read = read_input(*exec, input);
  return read ? "fits" : read.error().pointer;
}

} // namespace

TEST_CASE("a changed input comes back from its row, with who changed it", "[turns][changed_input]") {
  const auto text = changed_text(other_input, {"ann", "Ann"});
  CHECK(changed_input(text) == other_input);
  CHECK(json::parse(text)["by"] == json{{"id", "ann"}, {"name", "Ann"}});
  CHECK_FALSE(changed_input(""));
  CHECK_FALSE(changed_input("{}"));
  records::call_record call;
  call.input = "own";
  CHECK(input_that_ran(call) == "own");
  call.changed = text;
  CHECK(input_that_ran(call) == other_input);
}

TEST_CASE("a call's block shows what changed, and stays as it is without a change", "[turns][changed_input]") {
  const std::string block = R"({"call":"c1","input":{"command":"rm x"}})";
  CHECK(with_changed(block, "") == block);
  const auto shown = json::parse(with_changed(block, changed_text(other_input, {"ann", ""})));
  CHECK(shown["input"]["command"] == "rm x");
  CHECK(shown["changed"]["input"]["command"] == "ls");
}

TEST_CASE("the model reads what ran, in results of any shape, beside other notes", "[turns][changed_input]") {
  const auto shown_result = json::parse(with_changed_input(R"({"ok":true,"result":{"exit":0}})", other_input));
  CHECK(shown_result["ok"] == true);
  CHECK(shown_result["result"]["exit"] == 0);
  CHECK(shown_result["changed_input"]["command"] == "ls");
  CHECK(shown_result["note"].get<std::string>().find("a person changed the input") != std::string::npos);
  CHECK(input_named_in(shown_result.dump()) == other_input);
  const auto noted = json_result_texts{}.noted(R"({"ok":true})", "called 3 times");
  const auto both = json::parse(with_changed_input(noted, other_input))["note"].get<std::string>();
  CHECK(both.find("called 3 times") != std::string::npos);
  CHECK(both.find("a person changed the input") != std::string::npos);
  CHECK(json::parse(with_changed_input("plain", other_input))["result"] == "plain");
  CHECK(json::parse(with_changed_input(json_result_texts{}.cancelled(), other_input)).contains("changed_input"));
}

TEST_CASE("a call that never began says nothing of a change", "[turns][changed_input]") {
  const auto result = json_result_texts{}.not_started();
  CHECK(with_changed_input(result, other_input) == result);
  CHECK_FALSE(input_named_in(result));
}

TEST_CASE("of a long input the model reads the beginning and the end", "[turns][changed_input]") {
  const auto input = json{{"command", "begin " + std::string(100'000, 'x') + " end"}}.dump();
  const auto shown_result = with_changed_input(R"({"ok":true})", input);
  CHECK(shown_result.size() < 20'000);
  const auto text = json::parse(shown_result)["changed_input"].get<std::string>();
  CHECK(text.find("begin") != std::string::npos);
  CHECK(text.find(" end") != std::string::npos);
  CHECK_FALSE(input_named_in(shown_result)); // a part of an input is none
}

TEST_CASE("an error in an input has the pointer of its field", "[turns][changed_input]") {
  CHECK(pointer_in(R"({"command":"ls"})") == "fits");
  CHECK(pointer_in(R"({"command":7})") == "/command");
  CHECK(pointer_in(R"({"argv":["ls",7]})") == "/argv/1");
  CHECK(pointer_in(R"({"command":"ls","env":{"a/b":7}})") == "/env/a~1b");
  CHECK(pointer_in(R"({"command":"ls","colour":1})") == "/colour");
  CHECK(pointer_in("{").empty());
}
