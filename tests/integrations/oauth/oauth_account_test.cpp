// An account at an MCP server: concurrent renewals, a logout, another login.
#include <catch2/catch.hpp>

#include <deque>

#include "integrations/oauth/account.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::integrations::oauth;

namespace {

constexpr const char* url = "https://mcp.example.org/mcp";

/// The environment of an account: requests wait until they are answered, time stands still until the test moves it.
struct world {
  struct pending_request {
    chat::web_request request;
    std::function<void(chat::web_response)> done;
  };
  std::deque<pending_request> open;
  wall_time now{milliseconds(1'790'000'000'000)};
  std::optional<grant> kept;
  bool can_keep = true;
  std::vector<std::string> logged;
  std::shared_ptr<account> it;

  explicit world(
      std::optional<grant> first = grant{
          url, "https://as", "https://as/token", url, {"c", "", client_auth::none}, "at-1", "rt-1", "a", {}}) {
    account_ports ports;
    ports.fetch = [this](chat::web_request r, auto done) { open.push_back({std::move(r), std::move(done)}); };
    ports.now = [this] { return now; };
    ports.keep = [this](const grant* g) -> result<void> {
      if (!can_keep) return failure(error_code::storage_unavailable, "the disk is full");
      kept = g ? std::optional(*g) : std::nullopt;
      return {};
    };
    ports.log = [this](const std::string& s) { logged.push_back(s); };
    it = std::make_shared<account>(account_settings{url, {}, {}}, std::move(ports), std::move(first));
  }
  void answer(long status, std::string body, std::map<std::string, std::string> headers = {}) {
    REQUIRE_FALSE(open.empty());
    auto one = std::move(open.front());
    open.pop_front();
    one.done({chat::web_end::answered, status, std::move(headers), std::move(body), {}});
  }
  void gives(const std::string& token) {
    answer(200,
           R"({"access_token":")" + token + R"(","refresh_token":"rt-2","token_type":"Bearer","expires_in":3600})");
  }
  std::function<void(bool)> hears() {
    return [this](bool good) { results.push_back(good); };
  }
  std::vector<bool> results;
};

} // namespace

TEST_CASE("many who learn at once that a token is over ask for one other") {
  world w;
  for (int i = 0; i < 3; ++i) w.it->refused("at-1", 401, "", w.hears());
  REQUIRE(w.open.size() == 1);
  CHECK(w.open.front().request.body.find("grant_type=refresh_token&refresh_token=rt-1") == 0);
  w.gives("at-2");
  CHECK(w.results == std::vector{true, true, true});
  CHECK(w.it->token() == "at-2");
  CHECK(w.kept->refresh_token == "rt-2");
  w.it->refused("at-1", 401, "", w.hears()); // late
  CHECK(w.results.back());
  CHECK(w.open.empty());
}

TEST_CASE("a token is renewed a minute before its end, and used until then") {
  world w;
  w.it->refused("at-1", 401, "", w.hears());
  w.gives("at-2");
  w.now += std::chrono::minutes(58);
  CHECK(w.it->token() == "at-2");
  CHECK(w.open.empty());
  w.now += std::chrono::seconds(90);
  CHECK(w.it->token() == "at-2");
  CHECK(w.it->token() == "at-2");
  CHECK(w.open.size() == 1);
  w.answer(503, "");
  CHECK(w.it->token() == "at-2"); // no second renewal immediately
  CHECK(w.open.empty());
  CHECK(w.logged.size() == 1);
  w.now += std::chrono::seconds(31);
  CHECK(w.it->token() == "at-2");
  w.gives("at-3");
  CHECK(w.it->token() == "at-3");
  CHECK(w.it->now().trouble.empty());
}

TEST_CASE("a grant that is over is not asked for again, a server out of reach is") {
  world w;
  w.it->refused("at-1", 401, "", w.hears());
  w.answer(500, "");
  w.it->refused("at-1", 401, "", w.hears());
  w.answer(400, R"({"error":"invalid_grant"})");
  w.it->refused("at-1", 401, "", w.hears());
  CHECK(w.open.empty());
  CHECK(w.results == std::vector{false, false, false});
  CHECK(w.it->now().logged_in);
  CHECK_FALSE(w.it->now().renewable);
}

TEST_CASE("a logout overtakes a renewal, whose token is dropped") {
  world w;
  w.it->refused("at-1", 401, "", w.hears());
  CHECK(*w.it->log_out());
  w.gives("at-2");
  CHECK(w.results == std::vector{false});
  CHECK(w.it->token().empty());
  CHECK_FALSE(w.kept);
  CHECK_FALSE(*w.it->log_out());
}

TEST_CASE("a token that cannot be kept is used all the same, and a login that cannot be kept is none") {
  world w;
  w.can_keep = false;
  w.it->refused("at-1", 401, "", w.hears());
  w.gives("at-2");
  CHECK(w.it->token() == "at-2");
  REQUIRE(w.logged.size() == 1);
  CHECK(w.logged[0].find("at-2") == std::string::npos);
  CHECK(w.it->log_out().error().code == "storage_unavailable");
  CHECK(w.it->token() == "at-2");
}

TEST_CASE("tokens of another address are not used") {
  world w(grant{"https://mcp.example.org/other", "i", "https://t", "r", {}, "at-1", "rt-1", "", {}});
  CHECK(w.it->token().empty());
  w.it->refused("", 401, "", w.hears());
  CHECK(w.results == std::vector{false});
  CHECK(w.open.empty());
}

TEST_CASE("a login begun anew voids the one before, and takes ten minutes at most") {
  world w(std::nullopt);
  std::vector<account::started> begun;
  const auto begin = [&] {
    w.it->begin("http://127.0.0.1:9/callback", [&](const result<account::started>& s) { begun.push_back(*s); });
    w.answer(401, "", {{"www-authenticate", R"(Bearer scope="a")"}});
    w.answer(404, "");
    w.answer(200, R"({"resource":"https://mcp.example.org","authorization_servers":["https://as"]})");
    w.answer(200, R"({"issuer":"https://as","authorization_endpoint":"https://as/a","token_endpoint":"https://as/t",)"
                  R"("registration_endpoint":"https://as/r","code_challenge_methods_supported":["S256"]})");
    w.answer(201, R"({"client_id":"made"})");
  };
  result<void> how;
  const auto finish = [&](std::size_t which) {
    w.it->finish({begun[which].state, "code", "", "", ""}, [&](const result<void>& r) { how = r; });
  };
  begin();
  begin();
  CHECK(begun[0].state != begun[1].state);
  finish(0);
  CHECK(how.error().code == "login_not_found");
  w.now += std::chrono::minutes(11);
  finish(1);
  CHECK(how.error().code == "login_not_found");
  begin();
  finish(2);
  REQUIRE(w.open.size() == 1);
  CHECK(w.open.front().request.url == "https://as/t");
  finish(2); // a code is valid once
  CHECK(how.error().code == "login_not_found");
  w.gives("at-9");
  CHECK(how);
  CHECK(w.it->token() == "at-9");
  CHECK(w.kept->server == url);
}

TEST_CASE("a login where a token would go in the clear is refused before anything is asked") {
  account_ports ports;
  ports.fetch = [](auto&&...) { FAIL("nothing may be asked"); };
  ports.now = [] { return wall_time{}; };
  const auto it =
      std::make_shared<account>(account_settings{"http://mcp.example.org/mcp", {}, {}}, ports, std::nullopt);
  std::string code;
  it->begin("http://127.0.0.1:9/callback", [&](const result<account::started>& s) { code = s.error().code; });
  CHECK(code == "login_failed");
  for (const char* uri : {"https://127.0.0.1/x", "http://example.org/", "http://127.0.0.1/?a=b", "nonsense"}) {
    it->begin(uri, [&](const result<account::started>& s) { code = s.error().code; });
    CHECK(code == "invalid_field");
  }
}
