// Log lines of JSON: one object per line for every message, with the ids that the message names.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/host/log.hpp"
#include "integrations/host/log_line.hpp"

using namespace quell;
using namespace quell::host;

namespace {

const std::string an_id = "01a1f869-3df9-7303-8207-dde70bee07dd", another = "01a1f86a-0b77-7c55-9a3d-8e41d2c7f019";
constexpr wall_time at{milliseconds{1'795'168'267'123}};

nlohmann::json line(const std::string& message) {
  const auto text = json_log_line(at, "info", message);
  REQUIRE(text.find('\n') == std::string::npos);
  return nlohmann::json::parse(text);
}

} // namespace

TEST_CASE("a log line of JSON has time, level and message, in this order") {
  CHECK(json_log_line(at, "warning", "quelld ends") ==
        R"({"time":"2026-11-20T09:51:07.123Z","level":"warning","message":"quelld ends"})");
  CHECK(log_time(wall_time{milliseconds{-1}}) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("what a message holds cannot break the line") {
  CHECK(line("two\nlines, \"quotes\", a \\ and \x01")["message"] == "two\nlines, \"quotes\", a \\ and \x01");
  CHECK(line("bad \xc3\x28 bytes")["message"].get<std::string>().starts_with("bad "));
  CHECK(line("")["message"] == "");
}

TEST_CASE("a JSON log line is ASCII, so that nothing that it quotes reaches a terminal as an order") {
  const std::string quoted = "a\x1b[2Jb\u009b2Jc\u202ed\u200be 漢字";
  const auto text = json_log_line(at, "info", quoted);
  for (const char c : text) CHECK((c >= ' ' && c <= '~'));
  CHECK(text.find("\\u202e") != std::string::npos);
  CHECK(line(quoted)["message"] == quoted);
}

TEST_CASE("what a message quotes of others is neither a line of its own nor an order to a terminal") {
  CHECK(text_log_line(at, "info", "it says: two\nlines") == "2026-11-20T09:51:07.123Z info it says: two\n  lines");
  CHECK(text_log_line(at, "info", "a\x1b[2Jb\u009b2Jc\u202ed\u200be\x07") ==
        "2026-11-20T09:51:07.123Z info a?[2Jb??2Jc?d?e?");
  CHECK(text_log_line(at, "info", "漢字 ü") == "2026-11-20T09:51:07.123Z info 漢字 ü");
  CHECK(text_log_line(at, "info", "") == "2026-11-20T09:51:07.123Z info ");
}

TEST_CASE("the ids that a message names are members of their own") {
  const auto both = line("request " + an_id + " (GET /x) failed: operation " + another + " is gone");
  CHECK(both["request"] == an_id);
  CHECK(both["operation"] == another);
  CHECK(line("cancel " + an_id + " gives up on worker w-3.b: unreachable")["worker"] == "w-3.b");
  CHECK(line("session of worker w2.")["worker"] == "w2");
  CHECK_FALSE(line("worker leaves: 3 tasks are stopped").contains("worker"));
  CHECK_FALSE(line("the prerequest " + an_id).contains("request"));
  CHECK_FALSE(line("operation " + an_id.substr(0, 35)).contains("operation"));
  CHECK(line("operation of operation " + an_id)["operation"] == an_id);
}

TEST_CASE("a level or a format that does not exist is refused with those that do") {
  CHECK(check_log("info", "json"));
  CHECK(check_log("loud", "json").error().detail.find("debug, info, warn or error") != std::string::npos);
  CHECK(check_log("info", "xml").error().detail.find("text or json") != std::string::npos);
}
