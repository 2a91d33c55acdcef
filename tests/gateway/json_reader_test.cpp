// The reading of JSON texts: equal to nlohmann's own parser in values and errors, and doubled members are noted.
#include <catch2/catch.hpp>

#include "gateway/json_reader.hpp"

using namespace quell::controller::http;
using nlohmann::json;

TEST_CASE("a JSON text is read as nlohmann's parser reads it") {
  for (const std::string text :
       {"null", "true", "-1", "18446744073709551615", "1.5e3", R"("a\u00e9\n\ud83d\ude00")", "[]", "{}",
        " [ 1 , [ ] ] ", R"([1,[2,{"a":[{"b":null},3]},[[]],"x"],{"c":{}}])",
        R"({"a":{"b":{"c":[1,2,{"d":"e"}]},"f":false},"g":[{"h":0},{"h":1}],"":""})", "\xef\xbb\xbf{\"bom\":1}"}) {
    INFO(text);
    const auto read = read_json_text(text);
    REQUIRE(read);
    CHECK(read->value == json::parse(text));
    CHECK(read->value.dump() == json::parse(text).dump());
    CHECK_FALSE(read->doubled);
  }
}

TEST_CASE("what is not JSON has the error of nlohmann's parser") {
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "}",
                                 "[1,]",
                                 R"({"a"})",
                                 R"({"a":})",
                                 R"({"a":1,})",
                                 "{}x",
                                 "1 2",
                                 "tru",
                                 R"("open)",
                                 R"({"a":"\x"})",
                                 R"("\ud800")",
                                 "1e999",
                                 R"([1,{"a":-1e999}])",
                                 "nan",
                                 R"({"a":1 "a":2})",
                                 R"({"a":1,"a":2)",
                                 "\"\x01\""}) {
    INFO(text);
    const auto read = read_json_text(text);
    REQUIRE_FALSE(read);
    try {
      const auto value = json::parse(text);
      FAIL("it is JSON: " << value);
    } catch (const json::parse_error& e) {
      CHECK(read.error().byte == e.byte);
      CHECK(read.error().what == e.what());
    } catch (const json::exception& e) {
      CHECK_FALSE(read.error().byte);
      CHECK(read.error().what == e.what());
    }
  }
}

TEST_CASE("of doubled members the first is noted, and the value has the last") {
  const auto pointer = [](const std::string& text) {
    const auto read = read_json_text(text);
    REQUIRE(read);
    CHECK(read->value == json::parse(text));
    return read->doubled.value_or("none");
  };
  CHECK(pointer(R"({"a":1,"b":2,"b":{"c":3},"a":4})") == "/b");
  CHECK(pointer(R"({"a":{"x":[1]},"a":{"y":[2]}})") == "/a");
  CHECK(pointer(R"([0,[{"k":1},{"k":1,"l":[2,3],"k":[4]}]])") == "/1/1/k");
  CHECK(pointer(R"({"l":[1,2,{"m":1}],"n":{"m":1,"m":2}})") == "/n/m");
  CHECK(pointer(R"({"a~/b":{"":1,"":2}})") == "/a~0~1b/");
  CHECK(pointer(R"([{"k":1},{"k":1}])") == "none");
}
