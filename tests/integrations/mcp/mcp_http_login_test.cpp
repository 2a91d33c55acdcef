// The MCP client over HTTP with an account: tokens that the server refuses, and events during their renewal.
#include "tests/integrations/mcp/mcp_old_server.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

/// An account whose renewals wait until the test answers them.
class slow_account final : public mcp_credentials {
 public:
  std::string token() override {
    const std::lock_guard lock(guard_);
    return token_;
  }
  void refused(std::string used, long status, std::string challenge, std::function<void(bool)> done) override {
    const std::lock_guard lock(guard_);
    refusals_.push_back(used + " " + std::to_string(status) + " " + challenge);
    if (done) waiting_.push_back(std::move(done));
    changed_.notify_all();
  }
  /// Answers a renewal; "" = there is no token.
  void answers(const std::string& token) {
    std::function<void(bool)> done;
    {
      std::unique_lock lock(guard_);
      if (!changed_.wait_for(lock, test_bound, [this] { return !waiting_.empty(); })) FAIL("waited 30 s for a refusal");
      if (!token.empty()) token_ = token;
      done = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
    }
    done(!token.empty());
  }
  void wait_for_refusals(std::size_t count) {
    std::unique_lock lock(guard_);
    if (!changed_.wait_for(lock, test_bound, [&] { return refusals_.size() >= count; }))
      FAIL("waited 30 s for refusals");
  }
  std::vector<std::string> refusals() const {
    const std::lock_guard lock(guard_);
    return refusals_;
  }

 private:
  mutable std::mutex guard_;
  std::condition_variable changed_;
  std::string token_ = "token-number-one";
  std::vector<std::string> refusals_;
  std::vector<std::function<void(bool)>> waiting_;
};

struct locked {
  std::shared_ptr<slow_account> account = std::make_shared<slow_account>();
  std::atomic<int> status = 401;
  std::string good = "token-number-one"; ///< for calls; set before they are made
  old_server door{[this](const http_ask& ask, const json& message) -> moves {
    const auto given = ask.headers.find("authorization");
    const std::string token = given == ask.headers.end() ? "" : given->second;
    if (token == "Bearer " + good) return {answered(message["id"], greeting)};
    return {whole(status, "not " + token, "WWW-Authenticate: Bearer scope=\"a\"\r\nWWW-Authenticate: Basic\r\n")};
  }};
  std::unique_ptr<mcp_server> client;

  locked() {
    mcp_http_options options = quick();
    options.credentials = account;
    client = *mcp_http_server("remote", door.server.url(), "", options);
  }
};

} // namespace

TEST_CASE("a call whose token is not taken is sent once more with another") {
  locked l;
  l.good = "token-number-two";
  mcp_recorder recorder;
  const auto call = l.client->call("echo", "", recorder.listener());
  l.account->answers("token-number-two");
  CHECK(recorder.finished().ok);
  CHECK(count(l.door.server, "tools/call") == 2);
  CHECK(l.account->refusals() == std::vector<std::string>{"token-number-one 401 Bearer scope=\"a\", Basic"});
}

TEST_CASE("a call that no token opens the door for never began, and tells no token") {
  for (const bool gets_another : {true, false}) {
    locked l;
    l.good = "none";
    mcp_recorder recorder;
    const auto call = l.client->call("echo", "", recorder.listener());
    l.account->answers(gets_another ? "token-number-two" : "");
    const auto end = recorder.failed();
    CHECK(end.why.code == "mcp_login_needed");
    CHECK_FALSE(end.sent);
    CHECK(end.why.detail.find("quell mcp login remote") != std::string::npos);
    CHECK(end.why.detail.find("token-number") == std::string::npos);
    CHECK(count(l.door.server, "tools/call") == (gets_another ? 2 : 1));
    CHECK(l.account->refusals().size() == (gets_another ? 2 : 1));
  }
}

TEST_CASE("too few rights are told as such, and other refusals as before") {
  locked l;
  l.good = "none";
  l.status = 403;
  mcp_recorder recorder;
  const auto call = l.client->call("echo", "", recorder.listener());
  l.account->answers("");
  CHECK(recorder.failed().why.detail.find("more rights") != std::string::npos);
}

TEST_CASE("a cancel that meets a renewal finds a call that was never sent") {
  locked l;
  l.good = "token-number-two";
  mcp_recorder recorder, other;
  const auto call = l.client->call("echo", "", recorder.listener());
  const auto second = l.client->call("echo", "", other.listener());
  l.account->wait_for_refusals(2);
  call->cancel("no more", recorder.late());
  CHECK(recorder.wait_for_late() == "not_sent");
  l.account->answers("token-number-two");
  l.account->answers("token-number-two");
  CHECK(other.finished().ok);
  CHECK(recorder.events().empty());
  CHECK(count(l.door.server, "tools/call") == 3);
  CHECK(count(l.door.server, "notifications/cancelled") == 0);
}

TEST_CASE("a server that is given up while a token is renewed ends its calls, and a late token does no harm") {
  locked l;
  l.good = "token-number-two";
  mcp_recorder recorder;
  const auto call = l.client->call("echo", "", recorder.listener());
  l.account->wait_for_refusals(1);
  l.client.reset();
  CHECK(recorder.failed().why.code == "mcp_unreachable");
  l.account->answers("token-number-two");
  CHECK(count(l.door.server, "tools/call") == 1);
}

TEST_CASE("the list of tools and the handshake wait for a token too") {
  locked l;
  l.good = "token-number-two";
  mcp_recorder recorder;
  l.client->tools(recorder.reply());
  l.account->answers("token-number-two");
  CHECK(recorder.tools().error().code == "mcp_broken"); // a greeting is not a list
  http_server shut([](const http_ask& ask) -> moves {
    if (ask.body.empty()) return {whole(200, "")};
    const json message = json::parse(ask.body);
    const auto given = ask.headers.find("authorization");
    if (given == ask.headers.end() || given->second != "Bearer token-number-three") return {whole(401, "")};
    if (message["method"] == "server/discover") return {whole(404, "")};
    if (message["method"] == "initialize") return {answered(message["id"], {{"protocolVersion", "2025-11-25"}})};
    if (!message.contains("id")) return {accepted()};
    return {answered(message["id"], greeting)};
  });
  mcp_http_options options = quick();
  options.credentials = l.account;
  auto client = *mcp_http_server("remote", shut.url(), "", options);
  mcp_recorder call_recorder;
  const auto call = client->call("echo", "", call_recorder.listener());
  l.account->answers("token-number-three");
  CHECK(call_recorder.finished().ok);
}
