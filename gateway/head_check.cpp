// Implements the checks of request heads.
#include "gateway/head_check.hpp"

#include <algorithm>
#include <arpa/inet.h>

namespace quell::controller::http {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

problem bad(std::string detail) { return {.code = error_code::bad_request, .detail = std::move(detail)}; }

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

std::string host_name(std::string_view text) {
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find('/'));
  const auto end = text.starts_with('[') ? text.find(']') : text.find(':');
  if (end != std::string_view::npos) text = text.substr(0, end + (text[end] == ']' ? 1 : 0));
  if (text.ends_with('.')) text.remove_suffix(1);
  return lower(text);
}

std::optional<problem> foreign_host(const std::string& host, const std::vector<std::string>& own,
                                    const std::function<bool(const std::string&)>& is_certified) {
  const auto name = host_name(host);
  if (name.starts_with('[') || name.find('.') == std::string::npos || name.ends_with(".localhost")) return std::nullopt;
  in_addr address{};
  if (::inet_pton(AF_INET, name.c_str(), &address) == 1) return std::nullopt;
  if (std::find(own.begin(), own.end(), name) != own.end() || (is_certified && is_certified(name))) return std::nullopt;
  return problem{.code = error_code::unknown_host,
                 .detail = "the request is for the host '" + name.substr(0, 253) +
                           "', which is not a name of this quelld; if it is one, for example behind a proxy, add it to "
                           "http.hosts (http.advertise_url and the names of the certificate count, too)"};
}

} // namespace quell::controller::http
