// Splits URLs and writes heads.
#include "cli/http/address.hpp"

#include <algorithm>
#include <charconv>

namespace quell::cli {
namespace {

bool is_port(std::string_view text) {
  unsigned value = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end && value > 0 && value < 65536;
}

bool starts_with_name(std::string_view header, std::string_view lower_name) {
  return header.size() > lower_name.size() && header[lower_name.size()] == ':' &&
         std::equal(lower_name.begin(), lower_name.end(), header.begin(),
                    [](char wanted, char c) { return wanted == (c >= 'A' && c <= 'Z' ? c + 32 : c); });
}

tl::unexpected<std::string> wrong(std::string_view url, const char* what) {
  return tl::unexpected("the address '" + std::string(url) + "' " + what);
}

} // namespace

tl::expected<web_address, std::string> parse_address(std::string_view url) {
  web_address a;
  auto rest = url;
  if (rest.starts_with("https://")) {
    a.is_tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return wrong(url, "does not begin with http:// or https://");
  }
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return wrong(url, "holds a blank, a control character or a letter outside of ASCII: encode it");
  rest = rest.substr(0, rest.find('#'));
  const auto slash = std::min(rest.find_first_of("/?"), rest.size());
  a.authority = rest.substr(0, slash);
  a.target = rest.substr(slash);
  if (!a.target.starts_with('/')) a.target.insert(0, "/");
  if (a.authority.find('@') != std::string::npos)
    return wrong("…", "holds a user name or a password, which quell does not send: use a token");

  std::string_view where = a.authority, port;
  bool has_port = false;
  if (where.starts_with('[')) {
    const auto close = where.find(']');
    if (close == std::string_view::npos) return wrong(url, "opens a bracket and does not close it");
    a.host = where.substr(1, close - 1);
    where.remove_prefix(close + 1);
    has_port = !where.empty();
    if (has_port && where.front() != ':') return wrong(url, "has something other than a port behind its bracket");
    if (has_port) port = where.substr(1);
    if (const auto percent = a.host.find('%'); percent != std::string::npos) {
      a.zone = a.host.substr(percent + (a.host.substr(percent).starts_with("%25") ? 3 : 1));
      a.host.resize(percent);
      a.authority = "[" + a.host + "]" + std::string(where);
    }
  } else {
    const auto colon = where.find(':');
    has_port = colon != std::string_view::npos;
    a.host = where.substr(0, colon);
    if (has_port) port = where.substr(colon + 1);
  }
  if (a.host.empty()) return wrong(url, "names no host");
  if (has_port && !is_port(port)) return wrong(url, "has a port that is none of 1 to 65535");
  a.port = has_port ? std::string(port) : a.is_tls ? "443" : "80";
  return a;
}

tl::expected<std::string, std::string> request_head(const http_request& request, const web_address& address) {
  std::string head = request.method + " " + address.target + " HTTP/1.1\r\nHost: " + address.authority +
                     "\r\nUser-Agent: quell-cli/" QUELL_VERSION "\r\n";
  bool accepts = false;
  for (const auto& header : request.headers) {
    if (header.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return tl::unexpected("the value of the header " + header.substr(0, header.find(':')) + " holds a line break");
    accepts = accepts || starts_with_name(header, "accept");
    head += header + "\r\n";
  }
  if (!accepts) head += "Accept: */*\r\n";
  const bool asks_only = request.method == "GET" || request.method == "HEAD" || request.method == "DELETE";
  if (!asks_only || !request.body.empty()) head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  head += "\r\n";
  return head;
}

} // namespace quell::cli
