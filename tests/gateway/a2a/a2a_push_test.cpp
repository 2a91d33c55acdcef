// Push notifications, pure: what a config may be, and what is sent when.
#include <catch2/catch.hpp>

#include "gateway/a2a/push_config.hpp"
#include "gateway/a2a/push_delivery.hpp"
#include "gateway/a2a_error.hpp"

using namespace quell;
using namespace quell::controller::http::a2a;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

bool is_refused(const json& from) {
  try {
    read_push_config(from);
  } catch (const a2a_error& e) {
    CHECK(e.kind.rpc_code == -32602);
    return true;
  }
  return false;
}

moment push_time(std::chrono::milliseconds after) { return {wall_time{} + after, boot_time{} + after}; }

push_look push_state(const std::string& state, bool is_over = false) { return {state, is_over, "{}" + state}; }

} // namespace

TEST_CASE("a push notification config is read, kept in a file and shown", "[a2a][push]") {
  const json from{{"url", "https://hooks.example/x"},
                  {"token", "t-1"},
                  {"authentication", {{"scheme", "Bearer"}, {"credentials", "secret"}}},
                  {"unknown", 5}};
  auto config = read_push_config(from);
  CHECK_FALSE(config.id.empty());
  config.task = operation_id::fresh();
  config.by = "token";
  config.agent = "main";
  config.base = "team";
  config.last = "TASK_STATE_WORKING";
  const auto again = read_push_file(push_file_text(config));
  REQUIRE(again);
  CHECK(push_file_text(*again) == push_file_text(config));
  CHECK(again->last == config.last);
  const auto shown = push_config_json(config);
  CHECK(shown["taskId"] == config.task.text());
  CHECK(shown["authentication"]["credentials"] == "secret");
  CHECK_FALSE(shown.contains("by"));
  for (const auto* wrong : {"", "[]", "{}", R"({"taskId":"x","url":"http://h"})"}) CHECK_FALSE(read_push_file(wrong));
}

TEST_CASE("what does not fit into a request is not a push notification config", "[a2a][push]") {
  const auto with = [](const char* name, const json& value) {
    json from{{"url", "https://h/"}};
    from[name] = value;
    return from;
  };
  CHECK_FALSE(is_refused({{"url", "https://h/"}}));
  CHECK(is_refused(json(5)));
  CHECK(is_refused(json::object()));
  for (const auto* url : {"ftp://h/", "file:///etc/passwd", "https://h/\r\nX: y", "", "gopher://h", "https://h /"})
    CHECK(is_refused({{"url", url}}));
  CHECK(is_refused(with("url", "https://h/" + std::string(3000, 'x'))));
  CHECK(is_refused(with("id", "../../x/")));
  CHECK(is_refused(with("id", std::string(65, 'x'))));
  CHECK(is_refused(with("token", "two words")));
  CHECK(is_refused(with("token", "a\r\nX: y")));
  CHECK(is_refused(with("authentication", "Bearer x")));
  CHECK(is_refused(with("authentication", json{{"credentials", "x"}, {"scheme", ""}})));
  CHECK(is_refused(with("authentication", json{{"scheme", "Bearer\n"}, {"credentials", "x"}})));
  CHECK(is_refused(with("authentication", json{{"scheme", "Bearer"}, {"credentials", "x\r\nHost: y"}})));
}

TEST_CASE("each state is sent once, the newest after a pause, and the end last", "[a2a][push]") {
  push_delivery work("");
  auto now = push_time(0ms);
  REQUIRE(work.wants_to_look(now.boot));
  work.looks();
  CHECK_FALSE(work.wants_to_look(now.boot));
  work.took(push_state("working"), now);
  REQUIRE(work.to_send(now.boot));
  CHECK(*work.to_send(now.boot) == "{}working");
  work.sends();
  CHECK_FALSE(work.to_send(now.boot));
  CHECK(work.answered(503, "", 0ms, now) != "");
  CHECK_FALSE(work.to_send(now.boot));
  // By the next try the task is over: only that is sent.
  now = push_time(1s);
  CHECK_FALSE(work.to_send(now.boot));
  REQUIRE(work.wants_to_look(now.boot));
  work.looks();
  work.took(push_state("completed", true), now);
  REQUIRE(work.to_send(now.boot));
  CHECK(*work.to_send(now.boot) == "{}completed");
  work.sends();
  CHECK(work.answered(200, "", 0ms, now).empty());
  CHECK(work.is_done());
  CHECK(work.last() == "completed");
}

TEST_CASE("a state that was delivered in an earlier life is not sent again", "[a2a][push]") {
  push_delivery work("working");
  work.looks();
  work.took(push_state("working"), push_time(0ms));
  CHECK_FALSE(work.to_send(push_time(0ms).boot));
  CHECK_FALSE(work.is_done());
  CHECK(work.next_at() == push_time(15s).boot);
  work.nudge();
  CHECK(work.wants_to_look(push_time(1ms).boot));
  push_delivery over("completed");
  over.looks();
  over.took(push_state("completed", true), push_time(0ms));
  CHECK(over.is_done());
  push_delivery lost("");
  lost.looks();
  lost.took(std::nullopt, push_time(0ms));
  CHECK(lost.is_done());
}

TEST_CASE("a receiver that refuses, is gone, or takes nothing for a day is given up", "[a2a][push]") {
  const auto fails = [](push_delivery& work, long status, std::chrono::milliseconds at) {
    if (work.wants_to_look(push_time(at).boot)) {
      work.looks();
      work.took(push_state("working"), push_time(at));
    }
    REQUIRE(work.to_send(push_time(at).boot));
    work.sends();
    return work.answered(status, "no connection", 0ms, push_time(at));
  };
  push_delivery gone("");
  fails(gone, 410, 0ms);
  CHECK(gone.is_done());
  push_delivery refuses("");
  for (int i = 0; i < 5; ++i) fails(refuses, 422, std::chrono::minutes(10 * i));
  CHECK_FALSE(refuses.is_done());
  CHECK(refuses.last() == "working");
  push_delivery away("");
  auto at = 0ms;
  for (; at <= 24h; at += std::chrono::minutes(30)) fails(away, 0, at);
  CHECK_FALSE(away.is_done());
  fails(away, 500, at + 1h);
  CHECK(away.is_done());
}
