// The pure parts of `quell mcp`: lines, messages, tool schemas, arguments, and truncated texts.
#include <algorithm>
#include <catch2/catch.hpp>

#include "cli/instant.hpp"
#include "cli/mcp/arguments.hpp"
#include "cli/mcp/lines.hpp"
#include "cli/mcp/rpc.hpp"
#include "cli/mcp/tools.hpp"
#include "cli/mcp/words.hpp"
#include "protocol/utf8.hpp"

using namespace quell;
using namespace quell::cli;
using namespace quell::cli::mcp;

namespace {

const std::string id = "01a1f869-3df9-7303-8207-dde70bee07dd";

struct lines_seen {
  std::vector<std::string> lines;
  int too_long = 0;
  line_reader::sink sink{[this](std::string_view line) { lines.emplace_back(line); }, [this] { ++too_long; }};
};

std::string wrong(const std::string& tool, const json& arguments) {
  const auto read = read_arguments(tool, arguments);
  return read ? std::string("nothing") : read.error();
}

json operation(const std::string& status) {
  return {{"id", id},
          {"kind", "task"},
          {"title", "integration tests"},
          {"scope", "team/build"},
          {"status", status},
          {"worker", "w1"},
          {"created_at", "2026-11-20T09:51:07.123Z"},
          {"started_at", "2026-11-20T09:51:08.000Z"},
          {"ended_at", nullptr},
          {"stop", nullptr},
          {"task", {{"command", {"pytest", "-q"}}, {"output", {{"stdout_bytes", 10}, {"stderr_bytes", 0}}}}}};
}

view at(const char* when) { return {*parse_instant(when), time_zone::utc, false, character_set::utf8}; }
const view soon = at("2026-11-20T09:51:20.000Z");

void fits(const std::string& text) {
  INFO(text);
  CHECK(is_utf8(text));
  CHECK(code_points(text) <= most_characters);
}

} // namespace

TEST_CASE("lines are the same however their bytes are cut, and a longer one is told once") {
  const std::string all = "one\r\n\n  \ntwo\n" + std::string(30, 'x') + "\nthree";
  for (std::size_t step = 1; step <= all.size(); ++step) {
    lines_seen seen;
    line_reader reader(20);
    for (std::size_t i = 0; i < all.size(); i += step) reader.take(std::string_view(all).substr(i, step), seen.sink);
    reader.finish(seen.sink);
    CHECK(seen.lines == std::vector<std::string>{"one", "two", "three"});
    CHECK(seen.too_long == 1);
  }
}

TEST_CASE("messages are told apart, and an id keeps its type") {
  using kind = message::kind;
  CHECK(read_message(json::parse(R"({"id":1,"method":"ping"})")).what == kind::request);
  CHECK(read_message(json::parse(R"({"id":"1","method":"ping"})")).id == json("1"));
  CHECK(read_message(json::parse(R"({"method":"notifications/initialized"})")).what == kind::notification);
  CHECK(read_message(json::parse(R"({"id":1,"result":{}})")).what == kind::reply);
  for (const char* text : {"5", "null", "{}", R"({"method":5})", R"({"id":null,"method":"ping"})",
                           R"({"id":[1],"method":"ping"})", R"({"id":1,"method":"ping","params":[1]})"})
    CHECK(read_message(json::parse(text)).what == kind::invalid);
}

TEST_CASE("a line that is not JSON, or nested without end, is not a value") {
  CHECK(read_line(R"({"a":[1,{"b":"[[[["}]})")["a"][1]["b"] == "[[[[");
  for (const char* odd : {"", "{", "nothing", "{\"a\":1}x", "\"\xff\"", "[1,]"}) CHECK(read_line(odd).is_discarded());
  const auto nested = [](int levels, char open, char close) {
    return read_line(std::string(static_cast<std::size_t>(levels), open) +
                     std::string(static_cast<std::size_t>(levels), close));
  };
  CHECK(nested(100, '[', ']').is_array());
  CHECK(nested(200, '[', ']').is_discarded());
  CHECK(nested(5'000'000, '[', ']').is_discarded());
  CHECK(read_line(std::string(5'000'000, '[')).is_discarded());
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  CHECK(read_line(objects).is_discarded());
}

TEST_CASE("a version that is known is agreed on, any other gives the newest") {
  CHECK(agreed_version("2025-06-18") == "2025-06-18");
  CHECK(agreed_version("2025-11-25") == "2025-11-25");
  CHECK(agreed_version("2031-01-01") == "2025-11-25");
  CHECK(agreed_version("") == "2025-11-25");
  CHECK(version_in(json::parse(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})")) ==
        stateless_version);
  CHECK(version_in(json::parse(R"({"_meta":7})")).empty());
}

TEST_CASE("every tool has a schema, and says whether it only looks") {
  const auto tools = tool_list()["tools"];
  REQUIRE(tools.size() == 6);
  for (const auto& tool : tools) {
    const auto name = tool["name"].get<std::string>();
    INFO(name);
    const bool looks = name != "quell_run" && name != "quell_cancel";
    CHECK(tool["annotations"]["readOnlyHint"] == looks);
    CHECK(tool["annotations"]["destructiveHint"] == !looks);
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(tool["inputSchema"]["additionalProperties"] == false);
    CHECK(tool["description"].get<std::string>().size() < 1000);
    // The check accepts every property that the schema names and refuses all others.
    json valid = json::object();
    if (name == "quell_run") valid["command"] = {"true"};
    if (name != "quell_run" && name != "quell_list") valid["id"] = id;
    CHECK(wrong(name, valid) == "nothing");
    valid["no_such"] = 1;
    CHECK(wrong(name, valid).find("There is no argument \"no_such\"") == 0);
    for (const auto& [property, schema] : tool["inputSchema"]["properties"].items())
      CHECK(wrong(name, {{property, json::object()}}).find("There is no argument") == std::string::npos);
  }
}

TEST_CASE("arguments become plain values, and null is as if absent") {
  const auto run = std::get<run_arguments>(*read_arguments("quell_run", {{"command", {"make", "test"}},
                                                                         {"labels", {{"pr", "4711"}}},
                                                                         {"timeout_ms", 5000},
                                                                         {"wait_ms", 55000.0},
                                                                         {"title", nullptr}}));
  CHECK(run.command == std::vector<std::string>{"make", "test"});
  CHECK(run.labels.at("pr") == "4711");
  CHECK(run.timeout == milliseconds{5000});
  CHECK(run.wait == milliseconds{55000});
  CHECK_FALSE(run.title);
  CHECK(std::get<run_arguments>(*read_arguments("quell_run", {{"command", {"x"}}})).wait == milliseconds{0});
  CHECK(std::get<output_arguments>(*read_arguments("quell_output", {{"id", "07dd"}})).tail_bytes == 4096);
  CHECK(std::get<wait_arguments>(*read_arguments("quell_wait", {{"id", id}})).wait == milliseconds{30000});
  CHECK(std::get<cancel_arguments>(*read_arguments("quell_cancel", {{"all_mine", true}})).id.empty());
}

TEST_CASE("a wrong argument is named, with what would be right") {
  CHECK(wrong("quell_run", {{"command", "ls"}}).find("list of words") != std::string::npos);
  CHECK(wrong("quell_run", {{"command", {"ls", std::string(200'000, 'x')}}}).find("131072") != std::string::npos);
  CHECK(wrong("quell_run", {{"command", {std::string("a\0b", 3)}}}).find("NUL") != std::string::npos);
  CHECK(wrong("quell_run", {{"command", {"ls"}}, {"wait_ms", 55001}}).find("0 to 55000") != std::string::npos);
  CHECK(wrong("quell_run", {{"command", {"ls"}}, {"wait_ms", 1.5}}).find("whole number") != std::string::npos);
  CHECK(wrong("quell_run", {{"command", {"ls"}}, {"wait_ms", 1e300}}).find("whole number") != std::string::npos);
  CHECK(wrong("quell_run", {{"command", {"ls"}}, {"title", std::string(201, 'x')}}).find("title") != std::string::npos);
  CHECK(wrong("quell_show", {{"id", "7dd"}}).find("last 4 digits") != std::string::npos);
  CHECK(wrong("quell_show", {{"id", std::string("07dd\n")}}).find("not an id") != std::string::npos);
  CHECK(wrong("quell_cancel", {{"all_mine", false}}).find("all_mine: true") != std::string::npos);
  CHECK(wrong("quell_cancel", {{"id", id}, {"all_mine", true}}).find("cannot go with id") != std::string::npos);
  CHECK(wrong("quell_fly", json::object()).find("quell_wait") != std::string::npos);
  CHECK(wrong("quell_list", json::array()).find("JSON object") != std::string::npos);
  CHECK(wrong("quell_list", {{std::string(100'000, 'x'), 1}}).size() < 500);
}

TEST_CASE("the sentence of a user's stop is exactly that of the surface") {
  CHECK(cancelled_by_user("wrong branch") ==
        "Cancelled by user: wrong branch. Do not start this work again unless the user asks.");
  CHECK(cancelled_by_user("Wrong\nbranch.") ==
        "Cancelled by user: Wrong branch. Do not start this work again unless the user asks.");
  CHECK(stopped_text("cancel", "x") == cancelled_by_user("x"));
  CHECK(stopped_text("parent_ended", "").find("Cancelled by user") == std::string::npos);
  // Told when the stop is heard, which proves nothing yet.
  for (const char* cause : {"parent_ended", "timeout", "superseded", "drain", "cancel", "heartbeat_lost"}) {
    const auto text = stopped_text(cause, "enough");
    CHECK(text.find("Stopped") == std::string::npos);
    CHECK((cause == std::string("cancel")) == (text == cancelled_by_user("enough")));
  }
  CHECK(stopped_text("timeout", "") == "Being stopped: the time of this server's operation is over. Do not start this "
                                       "work again unless the user asks.");
  fits(cancelled_by_user(std::string(5000, 'x')));
}

TEST_CASE("only what a cancel covered is called stopped") {
  const auto cancel = [](const char* outcome, int operations) {
    return json{{"id", id},
                {"target", {{"operation", id}}},
                {"status", "settled"},
                {"outcome", outcome},
                {"report", {{"operations", operations}, {"proven", true}}}};
  };
  CHECK(cancels_text({cancel("stopping", 2)}, soon, false).find("Stopped, proven: 2 operations.") == 0);
  CHECK(cancels_text({cancel("stopping", 2), cancel("already_finished", 0)}, soon, false)
            .find("Stopped, proven: 2 operations.") == 0);
  CHECK(cancels_text({cancel("already_finished", 0)}, soon, false).find("Stopped") == std::string::npos);
}

TEST_CASE("texts have short ids, elapsed times and what to call next") {
  const auto running = run_text(operation("running"), soon, false);
  CHECK(running ==
        "Started 0bee07dd running 12s: integration tests (on w1)\nNext: quell_wait {\"id\": \"0bee07dd\"} for "
        "its end, quell_output {\"id\": \"0bee07dd\"} for what it prints, quell_cancel {\"id\": \"0bee07dd\"} "
        "to stop it.");
  auto over = operation("completed");
  over["ended_at"] = "2026-11-20T09:51:10.000Z";
  CHECK(wait_text(over, soon, false).find("0bee07dd completed after 2.0s") == 0);
  CHECK(wait_text(over, soon, false).find("10 B on stdout") != std::string::npos);
  auto stopped = operation("cancelled");
  stopped["stop"] = {{"cause", "cancel"}, {"reason", "too long"}, {"receipt", "terminated"}, {"proof", "cgroup_empty"}};
  CHECK(wait_text(stopped, soon, true).find(cancelled_by_user("too long") + "\n") == 0);
  CHECK(list_text(json::array(), soon, false).find("Nothing") == 0);
}

TEST_CASE("no text is longer than 2,000 characters, whatever others wrote") {
  const std::string wide = [] {
    std::string out;
    for (int i = 0; i < 3000; ++i) out += "\xf0\x9f\x9b\x91";
    return out;
  }();
  for (const auto& much : {std::string(100'000, 'x'), wide, std::string(5000, '\n'), std::string(5000, '\xff')}) {
    auto o = operation("failed");
    o["title"] = much;
    o["error"] = {{"code", "error"}, {"message", much}};
    o["stop"] = {{"cause", "cancel"}, {"reason", much}};
    o["task"]["command"] = {much, much};
    for (const auto& text : {run_text(o, soon, true), wait_text(o, soon, false), show_text(o, soon)}) {
      fits(text);
      CHECK(text.find("quell_output {\"id\": \"0bee07dd\"}") != std::string::npos);
    }
    auto many = json::array();
    for (int i = 0; i < 100; ++i) many.push_back(o);
    const auto list = list_text(many, soon, true);
    fits(list);
    CHECK(list.find("there are more") != std::string::npos);
    fits(output_text({id, "stdout", much, 7, 9, false}));
    fits(output_text({id, "stdout", much, 0, 0, true}));
    const json cancel{{"id", id},
                      {"target", {{"operation", id}}},
                      {"status", "signalled"},
                      {"reason", much},
                      {"outcome", "stopping"},
                      {"report",
                       {{"operations", 1},
                        {"unproven_total", 1},
                        {"unproven", {{{"operation", id}, {"title", much}, {"why", much}}}}}}};
    fits(cancel_text(cancel, soon));
    CHECK(cancel_text(cancel, soon).find("quell_wait") != std::string::npos);
    fits(cancels_text(std::vector<json>(200, cancel), soon, false));
    json dry = cancel;
    dry["dry_run"] = true;
    dry["would_stop"] = {{"operations", many}, {"truncated", true}};
    fits(cancel_text(dry, soon));
    fits(cancels_text({dry, dry}, soon, true));
  }
  CHECK(clipped("short\n") == "short");
  CHECK(clipped("abcdef", 4) == "abc…");
  CHECK(clipped("äöüß", 3) == "äö…");
}

TEST_CASE("the end of an output is whole characters, and keeps what is not text") {
  output_tail cut{id, "stdout", "\xa4x\xc3", 100, 0, false};
  keep_whole_characters(cut);
  CHECK(cut.bytes == "x");
  CHECK(cut.offset == 101);
  output_tail binary{id, "stdout", std::string("\xa4\xff\x00", 3), 100, 0, true};
  keep_whole_characters(binary);
  CHECK(output_shape(binary)["base64"] == "pP8A");
  CHECK(output_text(binary).find("not text") != std::string::npos);
  CHECK(output_shape({id, "stdout", "hello", 3, 0, true}) == json{{"type", "output"},
                                                                  {"operation", id},
                                                                  {"stream", "stdout"},
                                                                  {"offset", 3},
                                                                  {"text", "hello"},
                                                                  {"end", true},
                                                                  {"dropped_bytes", 0}});
  CHECK(output_text({id, "stdout", "", 0, 0, false}).find("so far") != std::string::npos);
}
