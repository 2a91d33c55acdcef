// Files in the results of remote agents: room for one call, and for all open calls of an agent.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "integrations/a2a/agent_server.hpp"
#include "integrations/a2a/task_view.hpp"
#include "tests/integrations/mcp/mcp_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;
using nlohmann::json;

namespace {

const std::string picture_bytes = "iVBORw0KGgp0aGUgcmVzdCBvZiBhIHBpY3R1cmUg"; // the beginning of a PNG

json file_artifact(const std::string& id, std::size_t bytes, const std::string& name) {
  std::string raw = picture_bytes;
  if (bytes > raw.size()) raw.append(bytes - raw.size(), ' '); // white space counts, too
  return {{"artifactId", id},
          {"parts", json::array({{{"raw", std::move(raw)}, {"mediaType", "image/png"}, {"filename", name}}})}};
}

json files_of_task(const std::vector<json>& artifacts, const char* state) {
  return {{"id", "t-1"}, {"contextId", "c-1"}, {"status", {{"state", state}}}, {"artifacts", artifacts}};
}

/// A task that holds files of so many bytes, each an artifact of its own.
a2a::task_view holding(const std::shared_ptr<a2a::media_room>& room, const std::vector<std::size_t>& sizes) {
  a2a::task_view view(room);
  std::vector<json> artifacts;
  for (const auto bytes : sizes)
    artifacts.push_back(file_artifact(std::to_string(artifacts.size()), bytes, "f" + std::to_string(artifacts.size())));
  REQUIRE(view.take(files_of_task(artifacts, "TASK_STATE_COMPLETED")));
  return view;
}

} // namespace

TEST_CASE("the files of an agent's open calls share room, and a file that is left out says so", "[a2a]") {
  const auto room = std::make_shared<a2a::media_room>(100'000);
  {
    const auto large = holding(room, {30'000, 20'000, 1'000});
    CHECK(room->free() == 50'000); // it has as much as is free, so it gets no more
    const auto end = large.end();
    CHECK(end.ok);
    CHECK(end.truncated);
    CHECK(end.media.size() == 2);
    const auto text = json::parse(end.result)["text"].get<std::string>();
    CHECK(text.find("[file f2, image/png, left out: the open calls of this agent hold too many files") !=
          std::string::npos);
    CHECK(text.find("f1") == std::string::npos);
    const auto other = holding(room, {25'000});
    CHECK(room->free() == 25'000);
    CHECK_FALSE(other.end().truncated);
    const auto third = holding(room, {12'500, 1});
    CHECK(room->free() == 12'500);
    CHECK(third.end().truncated);
  }
  CHECK(room->free() == 100'000);
  CHECK_FALSE(holding(room, {50'000}).end().truncated);
}

TEST_CASE("what replaces a file of a task gives its room back", "[a2a]") {
  const auto room = std::make_shared<a2a::media_room>(100'000);
  a2a::task_view view(room);
  for (int look = 0; look < 20; ++look) { // each look tells the whole task
    REQUIRE(view.take(files_of_task({file_artifact("a", 40'000, "a")}, "TASK_STATE_WORKING")));
    CHECK(room->free() == 60'000);
  }
  view.take({{"artifactUpdate", {{"taskId", "t-1"}, {"artifact", file_artifact("a", 10'000, "b")}}}});
  CHECK(room->free() == 90'000);
  auto moved = std::move(view);
  CHECK(room->free() == 90'000);
  view = a2a::task_view(room);
  moved = a2a::task_view(room);
  CHECK(room->free() == 100'000);
}

TEST_CASE("one call has 32 MiB of files at most", "[a2a]") {
  const auto room = std::make_shared<a2a::media_room>();
  const auto view = holding(room, {20 << 20, 12 << 20, 100});
  CHECK(room->free() == (std::size_t{128} << 20) - (std::size_t{32} << 20));
  const auto text = json::parse(view.end().result)["text"].get<std::string>();
  CHECK(text.find("f2, image/png, left out: the files of one call have at most 32 MiB") != std::string::npos);
}

TEST_CASE("calls that have ended hold no files of their agent", "[a2a]") {
  std::atomic<int> tasks = 0;
  http_server far([&](const http_ask& ask) -> moves {
    const json interface {
      {"url", "http://" + ask.headers.at("host") + "/rpc"}, {"protocolBinding", "JSONRPC"}, { "protocolVersion", "1.0" }
    };
    if (ask.body.empty())
      return {whole(200, json{{"name", "far"}, {"supportedInterfaces", json::array({interface})}}.dump())};
    const auto request = json::parse(ask.body);
    auto task = files_of_task({file_artifact("a", 3 << 20, "a")}, "TASK_STATE_COMPLETED");
    task["id"] = "t-" + std::to_string(++tasks);
    return {whole(200, json{{"jsonrpc", "2.0"}, {"id", request["id"]}, {"result", {{"task", task}}}}.dump())};
  });
  auto client = a2a_agent_server("far", far.url(), "");
  REQUIRE(client);
  for (int i = 0; i < 50; ++i) { // 150 MiB, one after the other
    mcp_recorder recorder;
    const auto call = (*client)->call("send", R"({"message":"ask"})", recorder.listener(), "op-" + std::to_string(i));
    const auto end = recorder.finished();
    REQUIRE_FALSE(end.truncated);
    REQUIRE(end.media.size() == 1);
  }
}
