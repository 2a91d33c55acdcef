// Turns server and connection errors into faults with one of our codes and a sentence that says what to do.
#include "integrations/models/provider_errors.hpp"

#include <charconv>
#include <cmath>

#include <curl/curl.h>

#include "integrations/models/json.hpp"
#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/web_request.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

std::string header(const refusal& what, std::string_view name) {
  const auto found = what.headers.find(name);
  return found == what.headers.end() ? std::string() : found->second;
}

/// The kind and text of an error in any of the usual shapes: {"error":{"type","code","message"}}, {"error":"…"},
/// {"type":"error","error":{…}}, {"message":"…"}, {"detail":"…"}.
struct server_words {
  std::string kind, detail;
};
server_words words_of(std::string_view body) {
  server_words words;
  const auto whole = parse_json(body);
  if (whole && whole->is_object()) {
    const json& error = member(*whole, "error").is_null() ? *whole : member(*whole, "error");
    if (error.is_string()) words.detail = error.get<std::string>();
    for (const char* name : {"message", "detail"})
      if (words.detail.empty()) words.detail = text_member(error, name);
    words.kind = text_member(error, "type");
    if (const std::string code = text_member(error, "code"); !code.empty()) words.kind = code;
    if (const std::uint64_t code = count_member(error, "code"); code != 0) words.kind = std::to_string(code);
  }
  words.detail = excerpt(words.detail.empty() ? body : words.detail, limits::shown_characters);
  return words;
}

std::string saying(const server_words& words) {
  return words.detail.empty() ? " and said nothing else" : ": " + words.detail;
}

/// The providers' and the compatible servers' words for a conversation that is too long.
bool is_overflow(const server_words& words) {
  if (words.kind == "context_length_exceeded" || words.kind == "exceed_context_size_error" ||
      words.kind == "request_too_large")
    return true;
  const std::string detail = lower(words.detail);
  for (const char* phrase : {"prompt is too long", "maximum context length", "context length", "context window",
                             "exceed context limit", "exceeds the available context", "input is too long"})
    if (detail.find(phrase) != std::string::npos) return true;
  return false;
}

/// The providers' words for an account that cannot pay. That is not a wrong request: another model can answer it.
bool is_unpaid(const server_words& words) {
  for (const char* kind : {"insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached"})
    if (words.kind == kind) return true;
  return lower(words.detail).find("credit balance is too low") != std::string::npos;
}

provider_error unpaid(const std::string& detail) {
  return {failure_of(failure_code::model_unpaid,
                     detail + "; the account behind the key cannot pay: add credit there, or use another key"),
          false,
          {}};
}

std::string advice(long status) {
  switch (status) {
  case 401:
  case 403:
    return "; check the model's key (key_env) and what it is allowed to use";
  case 404:
    return "; check the model's name and its base_url";
  case 413:
    return "; the conversation is longer than this model takes";
  default:
    return {};
  }
}

provider_error of_status(long status, const server_words& words) {
  const std::string answered = "the server answered " + std::to_string(status) + saying(words);
  if (status == 402 || (status < 500 && is_unpaid(words))) return unpaid(answered);
  if (status == 429 || status == 503 || status == 529)
    return {failure_of(failure_code::model_overloaded, answered), true, {}};
  if (status >= 500) return {failure_of(failure_code::model_unavailable, answered), status != 501 && status != 505, {}};
  // Both providers' client libraries retry these statuses too.
  if (status == 408 || status == 409) return {failure_of(failure_code::model_unavailable, answered), true, {}};
  if (status == 413 || ((status == 400 || status == 422) && is_overflow(words)))
    return {failure_of(failure_code::context_overflow, answered + advice(413)), false, {}};
  return {failure_of(failure_code::model_refused, answered + advice(status)), false, {}};
}

} // namespace

std::optional<std::chrono::milliseconds> requested_wait(const refusal& what, std::int64_t unix_seconds) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
      return std::nullopt;
    return std::min(value, 1e9);
  };
  if (const auto ms = number(header(what, "retry-after-ms")))
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*ms)));
  const std::string after = header(what, "retry-after");
  if (const auto seconds = number(after))
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*seconds * 1000)));
  const auto date = after.empty() ? -1 : static_cast<std::int64_t>(curl_getdate(after.c_str(), nullptr));
  if (date < unix_seconds) return std::nullopt;
  return std::chrono::seconds(std::min<std::int64_t>(date - unix_seconds, 1'000'000));
}

provider_error error_from_status(const refusal& what, std::int64_t unix_seconds) {
  if (what.status >= 300 && what.status < 400) {
    const std::string where = header(what, "location");
    return {
        failure_of(
            failure_code::model_refused,
            "the server answered " + std::to_string(what.status) + " and points to " +
                (where.empty() ? "nowhere" : excerpt(where.substr(0, where.find('?')), 200)) +
                "; redirects are not followed, because the key would go there too: set base_url to the right place"),
        false,
        {}};
  }
  provider_error found = of_status(what.status, words_of(what.body));
  const std::string should = header(what, "x-should-retry");
  if (should == "false") found.again = false;
  if (should == "true") found.again = true;
  found.requested_wait = requested_wait(what, unix_seconds);
  return found;
}

provider_error error_from_body(const refusal& what) {
  const std::string type = header(what, "content-type");
  return broken("the server answered " + (type.empty() ? "without a content type" : excerpt(type, 60)) +
                " instead of a stream of events" + saying(words_of(what.body)) +
                "; check that base_url points to the model's API");
}

provider_error of_stream_error(std::string_view error) {
  const server_words words = words_of(error);
  const std::string& kind = words.kind;
  long status = 0;
  std::from_chars(kind.data(), kind.data() + kind.size(), status);
  if (status >= 400 && status < 600) return of_status(status, words);
  const std::string detail =
      "the server broke off with " + (kind.empty() ? "an error" : excerpt(kind, 60)) + saying(words);
  if (is_unpaid(words)) return unpaid(detail);
  if (kind == "overloaded_error" || kind == "rate_limit_error" || kind == "rate_limit_exceeded")
    return {failure_of(failure_code::model_overloaded, detail), true, {}};
  if (kind == "api_error" || kind == "server_error" || kind == "internal_server_error" || kind == "timeout_error")
    return {failure_of(failure_code::model_unavailable, detail), true, {}};
  if (is_overflow(words)) return {failure_of(failure_code::context_overflow, detail + advice(413)), false, {}};
  return {failure_of(failure_code::model_refused, detail), false, {}};
}

provider_error of_transfer(int curl_code, std::string_view words, bool had_event) {
  const std::string detail = excerpt(words, 200);
  switch (static_cast<CURLcode>(curl_code)) {
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
    return {failure_of(failure_code::model_unavailable,
                       "its host has no address (" + detail + "); check base_url and the network"),
            true,
            {}};
  case CURLE_COULDNT_CONNECT:
    return {
        failure_of(failure_code::model_unavailable, "nobody answers there (" + detail + "); is the server running?"),
        true,
        {}};
  case CURLE_OPERATION_TIMEDOUT:
    return {failure_of(failure_code::model_timeout, "no connection came about (" + detail + ")"), true, {}};
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_ISSUER_ERROR:
    return {failure_of(failure_code::model_unavailable,
                       "its certificate is not trusted (" + detail + "); name the authority's file in QUELL_CA_FILE"),
            false,
            {}};
  case CURLE_SSL_CONNECT_ERROR:
    return {
        failure_of(failure_code::model_unavailable, "no TLS connection came about (" + detail + ")"), !had_event, {}};
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_WEIRD_SERVER_REPLY:
  case CURLE_BAD_CONTENT_ENCODING:
    return broken("what answers there speaks no HTTP that we understand (" + detail + ")");
  default:
    return {failure_of(had_event ? failure_code::model_cut : failure_code::model_unavailable,
                       std::string("the connection was lost ") +
                           (had_event ? "in the middle of the answer" : "before the answer") + " (" + detail + ")"),
            true,
            {}};
  }
}

} // namespace quell::integrations
