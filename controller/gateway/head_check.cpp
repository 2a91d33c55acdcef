// The rules of heads.
#include "controller/gateway/head_check.hpp"

#include <algorithm>

namespace quell::controller::http {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

problem bad(std::string detail) { return {.code = "bad_request", .detail = std::move(detail)}; }

} // namespace

std::optional<problem> wrong_head(const request_head& head) {
  if (head.encodings.size() > 1 || (!head.encodings.empty() && lower(head.encodings.front()) != "chunked"))
    return bad("Transfer-Encoding '" + head.encodings.front().substr(0, 64) +
               "' is not taken: send one that says chunked, or Content-Length");
  if (!head.encodings.empty() && head.lengths > 0)
    return bad("the request has Transfer-Encoding and Content-Length, and nobody can tell where it ends; send one");
  if (head.lengths > 1) return bad("the request has Content-Length more than once; send it once");
  if (head.hosts.size() > 1) return bad("the request has Host more than once; send it once");
  return std::nullopt;
}

} // namespace quell::controller::http
