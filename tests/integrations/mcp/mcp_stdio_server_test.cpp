// An MCP server on a given pair of byte streams, used from several threads at once.
#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "integrations/mcp/stdio_server.hpp"
#include "tests/integrations/mcp/mcp_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;
using nlohmann::json;

namespace {

/// The server's side: a thread that reads lines and answers as the test tells it.
class peer {
 public:
  using answers = std::function<void(peer&, const json& request)>;
  explicit peer(answers answer) : answer_(std::move(answer)) {}
  ~peer() { stop(); }

  void serve(mcp_stdio_server& server) {
    server_ = &server;
    thread_ = std::thread([this] { run(); });
    server.started();
  }
  void stop() {
    {
      const std::lock_guard lock(guard_);
      over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  std::function<void(std::string)> writer() {
    return [this](std::string bytes) {
      const std::lock_guard lock(guard_);
      lines_.push_back(std::move(bytes));
      changed_.notify_all();
    };
  }
  void say(const json& message) { server_->received(message.dump() + "\n"); }
  void answer(const json& request, const json& result) {
    say({{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", result}});
  }
  void progress(const json& request) {
    say({{"jsonrpc", "2.0"},
         {"method", "notifications/progress"},
         {"params", {{"progressToken", request.at("id")}, {"progress", 1}}}});
  }
  std::size_t seen(const std::string& method) const {
    const std::lock_guard lock(guard_);
    std::size_t found = 0;
    for (const json& one : seen_) found += one.value("method", "") == method ? 1 : 0;
    return found;
  }

 private:
  void run() {
    std::unique_lock lock(guard_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !lines_.empty(); });
      if (over_) return;
      json request = json::parse(lines_.front());
      lines_.pop_front();
      seen_.push_back(request);
      changed_.notify_all();
      lock.unlock();
      if (request.value("method", "") == "initialize")
        answer(request, {{"protocolVersion", "2025-11-25"}, {"serverInfo", {{"name", "peer"}}}});
      else
        answer_(*this, request);
      lock.lock();
    }
  }

  const answers answer_;
  mcp_stdio_server* server_ = nullptr;
  mutable std::mutex guard_;
  mutable std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::vector<json> seen_;
  bool over_ = false;
  std::thread thread_;
};

bool is_call(const json& request) { return request.value("method", "") == "tools/call"; }
const json nothing{{"content", json::array()}};

} // namespace

TEST_CASE("a call through a server on bytes: asked before it is there, answered when it is") {
  peer peer([](auto& self, const json& request) {
    if (!is_call(request)) return;
    self.progress(request);
    self.answer(request, nothing);
  });
  mcp_stdio_server server("files", peer.writer());
  mcp_recorder recorder;
  const auto call = server.call("echo", "{}", recorder.listener());
  CHECK(peer.seen("initialize") == 0);
  peer.serve(server);
  CHECK(recorder.finished().ok);
  CHECK(recorder.count_of_progress() == 1);
  call->cancel("too late", recorder.late());
  CHECK(recorder.wait_for_late() == "too_late");
  call->cancel("again", recorder.late());
  CHECK(recorder.wait_for_late(2) == "too_late");
  peer.stop();
}

TEST_CASE("cancels before the server is there, in the middle, twice, after the server has gone") {
  peer peer([](auto& self, const json& request) {
    if (is_call(request)) self.progress(request);
  });
  auto server = std::make_unique<mcp_stdio_server>("files", peer.writer());
  mcp_recorder early, middle, late;
  const auto first = server->call("slow", "", early.listener());
  first->cancel("never mind", early.late());
  CHECK(early.wait_for_late() == "not_sent");
  peer.serve(*server);
  const auto second = server->call("slow", "", middle.listener());
  middle.wait_for_progress();
  second->cancel("stop", middle.late());
  second->cancel("stop", middle.late());
  CHECK(middle.late_results().empty());
  second->stop_waiting();
  CHECK(middle.wait_for_late(1) == "ignored");
  CHECK(middle.wait_for_late(2) == "ignored");
  const auto third = server->call("slow", "", late.listener());
  late.wait_for_progress();
  peer.stop();
  server.reset();
  CHECK(late.failed().why.code == "mcp_unreachable");
  CHECK(late.failed().sent);
  third->cancel("stop", late.late());
  CHECK(late.wait_for_late() == "ignored");
  CHECK(early.events().empty());
}

TEST_CASE("dropping a call cancels it, and the answer that comes then is heard by nobody") {
  std::atomic<bool> answered = false, same = false;
  peer peer([&](auto& self, const json& request) {
    static json call;
    if (is_call(request)) call = request, self.progress(request);
    if (request.value("method", "") != "notifications/cancelled") return;
    same = request["params"]["requestId"] == call["id"];
    self.answer(call, nothing);
    answered = true;
    answered.notify_all();
  });
  mcp_stdio_server server("files", peer.writer());
  peer.serve(server);
  mcp_recorder recorder;
  auto call = server.call("slow", "", recorder.listener());
  recorder.wait_for_progress();
  call.reset();
  answered.wait(false);
  peer.stop();
  CHECK(same);
  CHECK(recorder.events().size() == 1);
}

TEST_CASE("a listener may cancel its own call, begin another and drop the server") {
  peer peer([](auto& self, const json& request) {
    if (is_call(request)) self.progress(request), self.progress(request), self.answer(request, nothing);
  });
  auto server = std::make_unique<mcp_stdio_server>("files", peer.writer());
  mcp_recorder other, late;
  std::atomic<bool> dropped = false;
  std::unique_ptr<mcp_call> call, next;
  std::atomic<int> callbacks = 0;
  call = server->call("a", "", [&](mcp_call_event) {
    ++callbacks;
    next = server->call("b", "", [&](mcp_call_event event) {
      if (!std::holds_alternative<mcp_call_events::finished>(event)) return;
      server.reset();
      dropped = true;
      dropped.notify_all();
    });
    call->cancel("from inside", late.late());
  });
  peer.serve(*server);
  dropped.wait(false);
  peer.stop();
  CHECK(callbacks == 1);
  late.wait_for_late();
}

TEST_CASE("nothing is told once a cancel has returned, and each late is told once, whatever the threads do") {
  peer peer([](auto& self, const json& request) {
    if (!is_call(request)) return;
    for (int i = 0; i < 3; ++i) self.progress(request);
    if (request["id"].get<int>() % 3 != 0) self.answer(request, nothing);
  });
  // Lines come one at a time, and a cancel after its call.
  std::atomic<int> inside = 0, overlaps = 0, early = 0;
  std::set<json> calls;
  const auto write = [&, to_peer = peer.writer()](std::string line) {
    if (++inside != 1) ++overlaps;
    const json message = json::parse(line);
    if (is_call(message)) calls.insert(message["id"]);
    if (message.value("method", "") == "notifications/cancelled" && !calls.contains(message["params"]["requestId"]))
      ++early;
    to_peer(std::move(line));
    --inside;
  };
  auto server = std::make_unique<mcp_stdio_server>("files", write);
  peer.serve(*server);
  std::vector<std::thread> users;
  std::atomic<int> late_results = 0;
  constexpr int threads = 4, rounds = 200;
  for (int t = 0; t < threads; ++t)
    users.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        auto alive = std::make_unique<std::atomic<int>>(0);
        std::atomic<bool> any = false;
        auto* counter = alive.get();
        const auto call = server->call("x", "", [counter, &any](mcp_call_event) {
          ++*counter; // freed memory if an event came too late: the sanitizers would report it
          any = true;
          any.notify_all();
          ++*counter;
        });
        if ((i + t) % 2 == 0) any.wait(false);
        call->cancel("stop", [&](const std::string&) { ++late_results; });
        if (*alive % 2 != 0) std::abort();
        alive.reset();
        if (i % 3 == 0) call->stop_waiting();
      }
    });
  for (std::thread& one : users) one.join();
  peer.stop();
  server.reset();
  CHECK(late_results == threads * rounds);
  CHECK(overlaps == 0);
  CHECK(early == 0);
}

TEST_CASE("what is asked of a server that has gone fails at once, and nothing is written to it") {
  std::atomic<int> written = 0;
  mcp_stdio_server server("files", [&](const std::string&) { ++written; });
  mcp_recorder open, after;
  server.started();
  server.tools(open.reply());
  server.closed("exited with status 3");
  CHECK_THAT(open.tools().error().detail, Catch::Contains("exited with status 3"));
  const auto call = server.call("x", "", after.listener());
  CHECK_FALSE(after.failed().sent);
  server.tools(after.reply());
  CHECK(after.tools().error().code == "mcp_unreachable");
  call->cancel("", nullptr);
  server.received("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  CHECK(written == 1);
}

TEST_CASE("hooks hear of the handshake, of changes and of noise") {
  std::string ready;
  int changes = 0, warnings = 0;
  mcp_hooks hooks;
  hooks.ready = [&](const std::string& name, const std::string&, const std::string& protocol) {
    ready = name + protocol;
  };
  hooks.tools_changed = [&] { ++changes; };
  hooks.warning = [&](const std::string& what) {
    CHECK_THAT(what, Catch::Contains("\"files\""));
    ++warnings;
  };
  mcp_stdio_server server(
      "files", [](const std::string&) {}, hooks);
  server.started();
  server.received("welcome!\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\","
                  "\"serverInfo\":{\"name\":\"old \"}}}\n");
  server.received("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
  CHECK(ready == "old2024-11-05");
  CHECK(changes == 1);
  CHECK(warnings == 1);
}
