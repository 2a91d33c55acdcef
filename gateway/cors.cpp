// CORS headers. Origins are compared as whole strings: no prefixes, no patterns, no `null`.
#include "gateway/cors.hpp"

#include <algorithm>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

namespace {

bool is_allowed(const gateway_options& options, const std::string& origin) {
  return !origin.empty() &&
         std::find(options.cors_origins.begin(), options.cors_origins.end(), origin) != options.cors_origins.end();
}

/// Those of our API, and those that the clients of OpenAI, of the AI SDK and of A2A add in a page.
constexpr const char* allowed_headers =
    "Authorization, Content-Type, Last-Event-ID, Prefer, Quell-Channel, X-Quell-Scope, A2A-Version, User-Agent, "
    "X-Stainless-Arch, "
    "X-Stainless-Lang, X-Stainless-OS, X-Stainless-Package-Version, X-Stainless-Retry-Count, X-Stainless-Runtime, "
    "X-Stainless-Runtime-Version, X-Stainless-Timeout, X-Stainless-Helper-Method";

} // namespace

std::optional<response> preflight_answer(const gateway_options& options, const request& req) {
  if (req.method != "OPTIONS" || req.requested_method.empty() || !is_allowed(options, req.origin)) return std::nullopt;
  auto answer = empty_answer();
  answer.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
                    {"Access-Control-Allow-Headers", allowed_headers},
                    {"Access-Control-Max-Age", "600"}};
  return answer;
}

void add_cors_headers(const gateway_options& options, const request& req, response& to) {
  if (options.cors_origins.empty()) return;
  to.headers.emplace_back("Vary", "Origin"); // a cache must not give one page's answer to another
  if (!is_allowed(options, req.origin)) return;
  to.headers.emplace_back("Access-Control-Allow-Origin", req.origin);
  to.headers.emplace_back("Access-Control-Expose-Headers",
                          "Quell-Offset, Quell-End, Quell-Dropped, Retry-After, Location, Allow, WWW-Authenticate, "
                          "X-Quell-Turn, X-Quell-Scope, X-Request-Id, Preference-Applied");
}

} // namespace quell::controller::http
