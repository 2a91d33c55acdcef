// Logging in at MCP servers: the pure parts. Foreign metadata is not trusted.
#include <catch2/catch.hpp>

#include "integrations/oauth/exchange.hpp"
#include "integrations/oauth/pkce.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::integrations::oauth;

namespace {

const web_address server = *read_address("https://mcp.example.org/team/mcp");

json metadata(const json& more = json::object()) {
  json all{{"issuer", "https://as.example.org"},
           {"authorization_endpoint", "https://as.example.org/authorize"},
           {"token_endpoint", "https://as.example.org/token"},
           {"registration_endpoint", "https://as.example.org/register"},
           {"code_challenge_methods_supported", {"S256"}}};
  if (more.is_object()) all.update(more);
  return all;
}

result<authorization_metadata> read_with(const json& more) {
  return read_authorization_metadata(metadata(more), "https://as.example.org", server);
}

const wall_time noon{milliseconds(1'790'000'000'000)};

} // namespace

TEST_CASE("the S256 challenge is that of RFC 7636") {
  CHECK(s256_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  CHECK(fresh_secret().size() == 43);
  CHECK(fresh_secret() != fresh_secret());
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "abcd"));
}

TEST_CASE("a challenge is found among others, however it is written") {
  const challenge wanted{"https://x/.well-known/y", "a b", "insufficient_scope"};
  CHECK(read_challenge(
            R"(Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/.well-known/y")") ==
        wanted);
  CHECK(read_challenge(R"(Basic realm="x, scope=no", bEaReR scope = "a b" ,error=insufficient_scope,,)"
                       R"( resource_metadata="https://x/.well-known\/y")") == wanted);
  CHECK(read_challenge(R"(Bearer scope="a", DPoP scope="b", Bearer scope="c")").scope == "a");
  CHECK(read_challenge(R"(Digest scope="a")") == challenge{});
  CHECK(read_challenge("") == challenge{});
  CHECK(read_challenge("Bearer scope=\"a\x01b\"") == challenge{});
  CHECK(read_challenge("Bearer scope=\"" + std::string(5000, 'a') + "\"") == challenge{});
  CHECK(read_challenge("Bearer scope=\"a").scope == "a");
  CHECK(read_challenge("\xff= ,=\"\\") == challenge{});
}

TEST_CASE("metadata is looked for at the more precise place first") {
  using urls = std::vector<std::string>;
  CHECK(resource_metadata_urls(server) == urls{"https://mcp.example.org/.well-known/oauth-protected-resource/team/mcp",
                                               "https://mcp.example.org/.well-known/oauth-protected-resource"});
  CHECK(resource_metadata_urls(*read_address("http://LOCALHOST:81/")) ==
        urls{"http://localhost:81/.well-known/oauth-protected-resource"});
  CHECK(authorization_metadata_urls(*read_address("https://as.example.org:443/t1")) ==
        urls{"https://as.example.org/.well-known/oauth-authorization-server/t1",
             "https://as.example.org/.well-known/openid-configuration/t1",
             "https://as.example.org/t1/.well-known/openid-configuration"});
}

TEST_CASE("addresses that tokens must not go to are refused") {
  for (const char* url :
       {"ftp://x/", "javascript:alert(1)", "https://u:p@x/", "https://x/#y", "https://x/ y", "x", "", "https://x/\n"})
    CHECK_FALSE(read_address(url));
  CHECK(may_trust("https://anywhere.example/x", server));
  CHECK_FALSE(may_trust("http://anywhere.example/x", server));
  CHECK_FALSE(may_trust("http://127.0.0.1/x", server)); // a foreign server must not send quelld to quelld's own machine
  const auto own = *read_address("http://127.0.0.1:80/mcp");
  CHECK(may_trust("http://localhost:9/x", own));
  CHECK_FALSE(may_trust("http://127.0.0.1.example.org/x", own));
}

TEST_CASE("metadata must be about this server") {
  const auto read = [](const std::string& resource, const json& issuers) {
    return read_resource_metadata({{"resource", resource}, {"authorization_servers", issuers}}, server);
  };
  const json issuers{"https://as.example.org"};
  for (const char* good :
       {"https://mcp.example.org/team/mcp", "https://mcp.example.org", "https://mcp.example.org/team/"})
    CHECK(read(good, issuers)->resource == good);
  for (const char* bad : {"https://evil.example.org/team/mcp", "https://mcp.example.org/te",
                          "http://mcp.example.org/team/mcp", "https://mcp.example.org/team/mcp/more", ""})
    CHECK(read(bad, issuers).error().code == "login_failed");
  for (const json& bad : {json::array(), json("https://as.example.org"), json{"http://as.example.org"}, json{7}})
    CHECK_FALSE(read("https://mcp.example.org", bad));
}

TEST_CASE("an authorization server must be the one that was named, and able to do PKCE") {
  CHECK(read_with({}));
  for (const json& bad :
       {json{{"issuer", "https://as.example.org/"}}, json{{"issuer", "https://evil.example.org"}},
        json{{"code_challenge_methods_supported", {"plain"}}}, json{{"code_challenge_methods_supported", nullptr}},
        json{{"token_endpoint", "http://as.example.org/token"}}, json{{"authorization_endpoint", "javascript:x"}},
        json{{"token_endpoint", 5}}})
    CHECK(read_with(bad).error().code == "login_failed");
  CHECK(read_with({{"registration_endpoint", "http://as.example.org/r"}})->registration_endpoint.empty());
}

TEST_CASE("a client is the configured one, or its document, or nobody yet") {
  const auto plain = *read_with({}), documents = *read_with({{"client_id_metadata_document_supported", true}});
  CHECK(known_client({"me", "s", "https://d"}, documents) == client{"me", "s", client_auth::basic});
  CHECK(known_client({"me", "", ""}, plain) == client{"me", "", client_auth::none});
  CHECK(known_client({"", "", "https://d"}, documents) == client{"https://d", "", client_auth::none});
  CHECK_FALSE(known_client({"", "", "https://d"}, plain));
  const auto post = *read_with({{"token_endpoint_auth_methods_supported", {"client_secret_post"}}});
  CHECK(known_client({"me", "s", ""}, post)->how == client_auth::post);
}

TEST_CASE("a secret goes to the token endpoint in the way that it takes") {
  const authorization_request what{"http://127.0.0.1:1/callback", "state", "verifier", ""};
  const auto basic = code_request({"a b", "s:e", client_auth::basic}, "https://r/?a=b&c", what, "co+de");
  CHECK(basic.headers.back() == "Authorization: Basic " + base64("a%20b:s%3Ae"));
  CHECK(basic.body.find("s:e") == std::string::npos);
  CHECK(basic.body.find("client_id") == std::string::npos);
  CHECK(basic.body.find("&resource=https%3A%2F%2Fr%2F%3Fa%3Db%26c") != std::string::npos);
  CHECK(basic.body.find("code=co%2Bde&") != std::string::npos);
  const auto post = code_request({"a", "s", client_auth::post}, "https://r", what, "c");
  CHECK(post.body.ends_with("&client_id=a&client_secret=s"));
}

TEST_CASE("scopes are those demanded, with what there was and a wish for refresh tokens") {
  const auto at = *read_with({{"scopes_supported", {"a", "offline_access"}}});
  const resource_metadata of{"r", "i", {"x", "y"}};
  CHECK(scope_to_ask({}, of, *read_with({}), "") == "x y");
  CHECK(scope_to_ask({"", "write", ""}, of, *read_with({}), "read write") == "read write");
  CHECK(scope_to_ask({"", "write", ""}, of, at, "read") == "read write offline_access");
  CHECK(scope_to_ask({}, {}, *read_with({}), "").empty());
}

TEST_CASE("a browser is sent off with everything that ties its answer to this login") {
  const authorization_request what{"http://127.0.0.1:1/callback", "state", "verifier", "a offline_access"};
  const std::string to = authorization_url(*read_with({{"authorization_endpoint", "https://as.example.org/a?x=1"}}),
                                           {"me", "", client_auth::none}, "https://mcp.example.org", what);
  CHECK(to == "https://as.example.org/a?x=1&response_type=code&client_id=me&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F"
              "callback&state=state&code_challenge=" +
                  s256_challenge("verifier") +
                  "&code_challenge_method=S256&scope=a%20offline_access&prompt=consent&resource=https%3A%2F%2Fmcp."
                  "example.org");
}

TEST_CASE("an answer of another issuer is refused, whatever else it says") {
  const auto says = *read_with({{"authorization_response_iss_parameter_supported", true}}), silent = *read_with({});
  CHECK(check_answer({"s", "c", "https://as.example.org", "", ""}, says));
  CHECK(check_answer({"s", "c", "", "", ""}, silent));
  CHECK_FALSE(check_answer({"s", "c", "", "", ""}, says));
  CHECK_FALSE(check_answer({"s", "c", "https://as.example.org/", "", ""}, says));
  CHECK_FALSE(check_answer({"s", "c", "https://evil", "", ""}, silent));
  CHECK_FALSE(check_answer({"s", "", "", "access_denied", "no\x1b[0m"}, silent));
  CHECK(check_answer({"s", "", "", "access_denied", "no\x1b[0m"}, silent).error().detail.find('\x1b') ==
        std::string::npos);
  CHECK_FALSE(check_answer({"s", "", "", "", ""}, silent));
}

TEST_CASE("tokens are taken if they can be sent, and a kept grant is the same again") {
  const grant old{"https://s", "i", "https://t", "r", {"c", "x", client_auth::post}, "old", "again", "a", noon};
  const auto fresh = read_tokens(old, 200, R"({"access_token":"new","token_type":"bearer","expires_in":60})", noon);
  REQUIRE(fresh);
  CHECK(fresh->access_token == "new");
  CHECK(fresh->refresh_token == "again");
  CHECK(fresh->expires_at == noon + std::chrono::seconds(60));
  CHECK(read_grant(grant_text(*fresh)) == *fresh);
  CHECK(read_tokens(old, 200, R"({"access_token":"n","token_type":"Bearer","expires_in":1e300})", noon)->expires_at >
        noon);
  for (const char* bad :
       {"", "[]", R"({"access_token":"","token_type":"Bearer"})", R"({"access_token":"a"})",
        R"({"access_token":"a b","token_type":"Bearer"})", R"({"access_token":"a\r\nX: y","token_type":"Bearer"})",
        R"({"access_token":"a","token_type":"DPoP"})"})
    CHECK(read_tokens(old, 200, bad, noon).error().code == "login_failed");
  CHECK(read_tokens(old, 400, R"({"error":"invalid_grant"})", noon).error().code == "login_over");
  CHECK(read_tokens(old, 503, "", noon).error().code == "login_failed");
  for (const char* bad : {"", "{}", R"({"server":"https://s"})"}) CHECK_FALSE(read_grant(bad));
}
