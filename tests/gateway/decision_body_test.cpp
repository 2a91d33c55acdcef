// The body of an approval with another input, and of a message that chooses: shapes and limits.
#include <catch2/catch.hpp>

#include "gateway/message_body.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;

namespace {

std::string pointer_of_decision(const std::string& body, approval_outcome how = approval_outcome::approved) {
  const auto read = read_decision(body, how);
  return read ? "fits" : read.error().errors.empty() ? "?" : read.error().errors.front().pointer;
}

/// "CODE pointer pointer …" of a refused body.
template <class Read>
std::string errors_of_decision_body(const Read& read) {
  if (read) return "fits";
  std::string text(text_of(read.error().code));
  for (const auto& e : read.error().errors) text += ' ' + e.pointer;
  return text;
}

std::string errors_of_choice(const std::string& members) {
  return errors_of_decision_body(read_message(R"({"scope":"a","text":"x","author":{"id":"mia"},)" + members + "}"));
}

std::string errors_of_approval(const std::string& body) {
  return errors_of_decision_body(read_decision(body, approval_outcome::approved));
}

std::string pointer_of_choice(const std::string& members) {
  const auto read = read_message(R"({"scope":"a","text":"x","author":{"id":"mia"},)" + members + "}");
  return read ? "fits" : read.error().errors.empty() ? "?" : read.error().errors.front().pointer;
}

} // namespace

TEST_CASE("the input of an approval is kept as it is, nulls too") {
  const auto read =
      read_decision(R"({"reason":null,"input":{"b":null,"a":[1,null]},"by":{"id":"ann"}})", approval_outcome::approved);
  REQUIRE(read);
  CHECK(read->word.input == R"({"a":[1,null],"b":null})");
  CHECK(read->word.by.id == "ann");
  CHECK(read_decision(R"({"input":null})", approval_outcome::approved)->word.input.empty());
  CHECK(read_decision("", approval_outcome::approved)->word.input.empty());
}

TEST_CASE("an input is an object, of a call that waits to begin, and does not stand") {
  CHECK(pointer_of_decision(R"({"input":[]})") == "/input");
  CHECK(pointer_of_decision(R"({"input":"x"})") == "/input");
  CHECK(pointer_of_decision(R"({"input":{},"always":{"for_ms":5}})") == "/always");
  CHECK(pointer_of_decision(R"({"input":{},"question":"01a1f869-3df9-7303-8207-dde70bee07dd"})") == "/input");
  CHECK(pointer_of_decision(R"({"input":{}})", approval_outcome::denied) == "/input"); // a denial has none
}

TEST_CASE("a message chooses a model, tools and a parent within limits") {
  CHECK(pointer_of_choice(R"("model":"m","tools":[],"parent":"01a1f869-3df9-7303-8207-dde70bee07dd")") == "fits");
  CHECK(pointer_of_choice(R"("model":"")") == "/model");
  CHECK(pointer_of_choice(R"("model":")" + std::string(65, 'm') + "\"") == "/model");
  CHECK(pointer_of_choice(R"("tools":"read")") == "/tools");
  CHECK(pointer_of_choice(R"("tools":[""])") == "/tools/0");
  CHECK(pointer_of_choice(R"("tools":["exec",7])") == "/tools/1");
  CHECK(pointer_of_choice(R"("parent":"x")") == "/parent");
  std::string many = R"("tools":["t")";
  for (int i = 0; i < 128; ++i) many += R"(,"t")";
  CHECK(pointer_of_choice(many + "]") == "/tools");
}

TEST_CASE("a budget takes three limits, each refused by its own pointer") {
  CHECK(errors_of_choice(R"("budget":{"max_cost":0.5,"max_tokens":3,"model_calls":1})") == "fits");
  CHECK(errors_of_choice(R"("budget":{"max_cost":null})") == "fits");
  CHECK(errors_of_choice(R"("budget":7)") == "invalid_field /budget");
  CHECK(errors_of_choice(R"("budget":{"max_token":3})") == "unknown_field /budget/max_token");
  CHECK(errors_of_choice(R"("budget":{"max_tokens":"3"})") == "invalid_field /budget/max_tokens");
  CHECK(errors_of_choice(R"("budget":{"model_calls":0})") == "invalid_field /budget/model_calls");
  for (const char* cost : {"0", "-1", "1e10", "\"1\""})
    CHECK(errors_of_choice(std::string(R"("budget":{"max_cost":)") + cost + "}") == "invalid_field /budget/max_cost");
  CHECK(errors_of_choice(R"("budget":{"max_cost":0,"max_tokens":1.5})") ==
        "invalid_field /budget/max_cost /budget/max_tokens");
}

TEST_CASE("a bad name in a list is refused by its index") {
  CHECK(errors_of_choice(R"("bot_names":["quell","q"])") == "fits");
  CHECK(errors_of_choice(R"("bot_names":"quell")") == "invalid_field /bot_names");
  CHECK(errors_of_choice(R"("bot_names":["a",3])") == "invalid_field /bot_names/1");
  CHECK(errors_of_choice(R"("tools":["exec",3,"read",""])") == "invalid_field /tools/1 /tools/3");
  CHECK(errors_of_choice(R"("tools":[")" + std::string(129, 't') + "\"]") == "invalid_field /tools/0");
}

TEST_CASE("the time of a standing approval is refused once") {
  CHECK(errors_of_approval(R"({"always":{"for_ms":5}})") == "fits");
  for (const char* always : {"{}", R"({"for_ms":0})", R"({"for_ms":"1h"})", R"({"for_ms":2592000001})"})
    CHECK(errors_of_approval(std::string(R"({"always":)") + always + "}") == "invalid_field /always/for_ms");
}
