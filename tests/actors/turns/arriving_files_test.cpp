// Files on their way: a request waits for its own, a stop ends the fetch, and each is settled once.
#include <catch2/catch.hpp>

#include "actors/turns/arriving_files.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

conversation naming(const std::string& file) { return {user_message{"look", {{file, "x", "image/png", 4}}}}; }

} // namespace

TEST_CASE("a conversation waits for the files that it names, until the last one is settled", "[arriving]") {
  arriving_files files;
  auto all = naming("a");
  CHECK(files.among(all).empty());
  for (const char* name : {"a", "b", "c"}) files.expect(name);
  CHECK(files.among(all) == std::vector<std::string>{"a"});
  int called = 0;
  files.wait({"a", "b"}, [&] { ++called; });
  files.settle("c", "");
  files.settle("a", "");
  CHECK(called == 0);
  files.settle("b", "it is gone");
  CHECK(called == 1);
  CHECK(files.among(all).empty());
  CHECK_FALSE(files.why_missing("a"));
  CHECK(files.why_missing("b") == "it is gone");
  files.wait({"a", "b"}, [&] { ++called; });
  CHECK(called == 2);
}

TEST_CASE("only the first word about a file counts", "[arriving]") {
  arriving_files files;
  files.expect("a");
  files.settle("a", "it is gone");
  files.settle("a", "");
  files.settle("b", "never expected");
  CHECK(files.why_missing("a") == "it is gone");
  CHECK_FALSE(files.why_missing("b"));
  CHECK_FALSE(files.begin("a", [] {}));
}

TEST_CASE("a stop of the turn ends the fetches of its files, once, and those that did not begin never do",
          "[arriving]") {
  arriving_files files;
  const auto turn = operation_id::fresh();
  for (const char* name : {"a", "b", "other"}) files.expect(name);
  files.belong({{"a", "", "", 0}, {"b", "", "", 0}, {"unknown", "", "", 0}}, turn);
  int stopped = 0, called = 0;
  REQUIRE(files.begin("a", [&] {
    ++stopped;
    CHECK_FALSE(files.begin("b", [] {})); // whoever fetches them goes on with the next
  }));
  files.wait({"a", "b"}, [&] { ++called; });
  files.stop_of(operation_id::fresh());
  CHECK(stopped == 0);
  files.stop_of(turn);
  files.stop_of(turn);
  CHECK(stopped == 1);
  CHECK(called == 1);
  CHECK_FALSE(files.begin("b", [] {}));
  CHECK(files.why_missing("a") == arriving_files::stopped);
  auto all = naming("other");
  CHECK(files.among(all).size() == 1);
}
