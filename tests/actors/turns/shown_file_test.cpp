// The answer of `read` about an image: the bytes leave it before it becomes a result.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "actors/turns/shown_file.hpp"

using namespace quell::controller::turns;
using nlohmann::json;

TEST_CASE("the bytes of a shown file are taken out of the answer", "[files]") {
  std::string answer =
      R"({"ok":true,"result":{"bytes":3,"data":"UE5H","path":"pictures/a cat.png","type":"image/png"}})";
  const auto file = take_shown_file(answer);
  REQUIRE(file);
  CHECK(file->name == "a cat.png");
  CHECK(file->type == "image/png");
  CHECK(file->bytes == "PNG");
  CHECK(json::parse(answer) ==
        json({{"ok", true}, {"result", {{"bytes", 3}, {"path", "pictures/a cat.png"}, {"type", "image/png"}}}}));
}

TEST_CASE("an answer without a file is left as it is", "[files]") {
  for (const std::string text :
       {R"({"ok":true,"result":{"path":"a","text":"\"data\":\"UE5H\""}})", R"({"ok":true,"result":{"data":"UE5H"}})",
        R"({"ok":true,"result":{"data":"?","path":"a","type":"image/png"}})", R"({"data":"UE5H")", "", "[]",
        R"({"ok":false,"error":{"code":"not_found","message":"\"data\":\""}})", R"(["data":"x"])"}) {
    auto answer = text;
    CHECK_FALSE(take_shown_file(answer));
    CHECK(answer == text);
  }
}
