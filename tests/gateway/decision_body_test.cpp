// The body of an approval with another input, and of a message that chooses: shapes and limits.
#include <catch2/catch.hpp>

#include "gateway/message_body.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;

namespace {

std::string pointer_of_decision(const std::string& body, bool approved = true) {
  const auto read = read_decision(body, approved);
  return read ? "fits" : read.error().errors.empty() ? "?" : read.error().errors.front().pointer;
}

std::string pointer_of_choice(const std::string& members) {
  const auto read = read_message(R"({"scope":"a","text":"x","author":{"id":"mia"},)" + members + "}");
  return read ? "fits" : read.error().errors.empty() ? "?" : read.error().errors.front().pointer;
}

} // namespace

TEST_CASE("the input of an approval is kept as it is, nulls too") {
  const auto read = read_decision(R"({"reason":null,"input":{"b":null,"a":[1,null]},"by":{"id":"ann"}})", true);
  REQUIRE(read);
  CHECK(read->word.input == R"({"a":[1,null],"b":null})");
  CHECK(read->word.by.id == "ann");
  CHECK(read_decision(R"({"input":null})", true)->word.input.empty());
  CHECK(read_decision("", true)->word.input.empty());
}

TEST_CASE("an input is an object, of a call that waits to begin, and does not stand") {
  CHECK(pointer_of_decision(R"({"input":[]})") == "/input");
  CHECK(pointer_of_decision(R"({"input":"x"})") == "/input");
  CHECK(pointer_of_decision(R"({"input":{},"always":{"for_ms":5}})") == "/always");
  CHECK(pointer_of_decision(R"({"input":{},"question":"01a1f869-3df9-7303-8207-dde70bee07dd"})") == "/input");
  CHECK(pointer_of_decision(R"({"input":{}})", false) == "/input"); // a denial has none
}

TEST_CASE("a message chooses a model, tools and a parent within limits") {
  CHECK(pointer_of_choice(R"("model":"m","tools":[],"parent":"01a1f869-3df9-7303-8207-dde70bee07dd")") == "fits");
  CHECK(pointer_of_choice(R"("model":"")") == "/model");
  CHECK(pointer_of_choice(R"("model":")" + std::string(65, 'm') + "\"") == "/model");
  CHECK(pointer_of_choice(R"("tools":"read")") == "/tools");
  CHECK(pointer_of_choice(R"("tools":[""])") == "/tools");
  CHECK(pointer_of_choice(R"("tools":[7])") == "/tools");
  CHECK(pointer_of_choice(R"("parent":"x")") == "/parent");
  std::string many = R"("tools":["t")";
  for (int i = 0; i < 128; ++i) many += R"(,"t")";
  CHECK(pointer_of_choice(many + "]") == "/tools");
}
