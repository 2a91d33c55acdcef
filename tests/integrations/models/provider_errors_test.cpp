// Errors in codes and words, and the pause before the next attempt.
#include <vector>

#include <curl/curl.h>

#include <catch2/catch.hpp>

#include "integrations/models/provider_errors.hpp"
#include "integrations/models/running_call.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace std::chrono_literals;

namespace {

provider_error answered(long status, const std::string& body = {},
                        std::map<std::string, std::string, std::less<>> headers = {}) {
  return error_from_status({status, std::move(headers), body}, 1'000'000'000);
}

} // namespace

TEST_CASE("each status has its code, and only what may pass is tried again") {
  const auto check = [](long status, const char* code, bool again) {
    INFO(status);
    CHECK(answered(status).why.code == code);
    CHECK(answered(status).again == again);
  };
  for (const long status : {400, 401, 403, 404, 422}) check(status, "model_refused", false);
  for (const long status : {429, 503, 529}) check(status, "model_overloaded", true);
  for (const long status : {408, 409, 500, 502, 504}) check(status, "model_unavailable", true);
  check(501, "model_unavailable", false);
  CHECK_THAT(answered(401).why.detail, Catch::Contains("key_env"));
  CHECK_THAT(answered(404, R"({"error":"model \"x\" not found"})").why.detail,
             Catch::Contains("model \"x\" not found"));
  CHECK_FALSE(answered(529, "", {{"x-should-retry", "false"}}).again);
  CHECK(answered(400, std::string(5000, 'w')).why.detail.size() < 500);
}

TEST_CASE("an account that cannot pay is told apart from a wrong request, and is not asked again") {
  const char* balance =
      R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}})";
  const std::vector<provider_error> all{
      answered(402),
      answered(402, R"({"error":{"message":"Insufficient Balance","code":"invalid_request_error"}})"),
      answered(429, R"({"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"pay"}})"),
      answered(403, R"({"type":"error","error":{"type":"billing_error","message":"pay"}})"),
      answered(400, R"({"error":{"code":"billing_hard_limit_reached","message":"pay"}})"),
      answered(400, balance),
      of_stream_error(R"({"error":{"code":"insufficient_quota","message":"pay"}})"),
      of_stream_error(R"({"type":"error","error":{"type":"billing_error","message":"pay"}})"),
      of_stream_error(R"({"error":{"code":402,"message":"pay"}})")};
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(i);
    CHECK(all[i].why.code == "model_unpaid");
    CHECK_FALSE(all[i].again);
    CHECK_THAT(all[i].why.detail, Catch::Contains("cannot pay"));
  }
  CHECK(answered(429, R"({"error":{"type":"rate_limit_error","message":"slow down"}})").again);
  CHECK(answered(500, R"({"error":{"type":"billing_error","message":"our billing is down"}})").again);
}

TEST_CASE("a conversation that is too long has a code of its own, in every server's words") {
  CHECK(answered(413).why.code == "context_overflow");
  for (
      const char* body :
      {R"({"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}})",
       R"({"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}})",
       R"({"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}})",
       R"({"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}})"}) {
    INFO(body);
    CHECK(answered(400, body).why.code == "context_overflow");
    CHECK_FALSE(answered(400, body).again);
  }
  CHECK(answered(401, R"({"error":{"message":"no access to this context window"}})").why.code == "model_refused");
  CHECK(of_stream_error(R"({"error":{"code":"context_length_exceeded","message":"too long"}})").why.code ==
        "context_overflow");
}

TEST_CASE("Retry-After comes in seconds, with fractions, in milliseconds or as a date, or is not understood") {
  const auto wait = [](std::map<std::string, std::string, std::less<>> headers) {
    return answered(429, "", std::move(headers)).requested_wait;
  };
  CHECK(wait({{"retry-after", "7"}}) == 7000ms);
  CHECK(wait({{"retry-after", "0.25"}}) == 250ms);
  CHECK(wait({{"retry-after", "9"}, {"retry-after-ms", "12"}}) == 12ms);
  CHECK(wait({{"retry-after", "Sun, 09 Sep 2001 01:47:10 GMT"}}) == 30s); // now is 01:46:40
  CHECK(wait({{"retry-after", "Sun, 09 Sep 2001 01:46:10 GMT"}}) == std::nullopt);
  for (const char* bad : {"", "-3", "soon", "nan", "inf", "3 seconds"})
    CHECK(wait({{"retry-after", bad}}) == std::nullopt);
  CHECK(wait({{"retry-after", "1e300"}}).value() >= 1000h);
}

TEST_CASE("back-offs double up to the longest, and are spread over their second half") {
  model_settings settings;
  settings.first_backoff = 100ms;
  settings.longest_backoff = 1000ms;
  CHECK(backoff(settings, 2, 0) == 50ms);
  CHECK(backoff(settings, 2, 0.999) == 99ms);
  CHECK(backoff(settings, 3, 0.5) == 150ms);
  CHECK(backoff(settings, 5, 0) == 400ms);
  for (const std::uint32_t coming : {6U, 40U, 4'000'000'000U}) CHECK(backoff(settings, coming, 0.5) == 750ms);
}

TEST_CASE("a certificate that is not trusted is not tried again, and says how to trust it") {
  const auto wrong = of_transfer(CURLE_PEER_FAILED_VERIFICATION, "self-signed certificate", false);
  CHECK_FALSE(wrong.again);
  CHECK_THAT(wrong.why.detail, Catch::Contains("QUELL_CA_FILE"));
}
