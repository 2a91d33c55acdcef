// Request targets: path and query.
#include "gateway/request.hpp"

#include <algorithm>

#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::size_t max_parameters = 256;

/// `word` is in lower case; the case of `text` does not matter.
bool holds_word(std::string_view text, std::string_view word) {
  const auto same = [](char given, char lower) { return (given >= 'A' && given <= 'Z' ? given + 32 : given) == lower; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

} // namespace

bool request::wants_event_stream() const {
  return holds_word(accept, "text/event-stream"); // media types are case-insensitive
}

bool request::wants_minimal() const { return holds_word(prefer, "return=minimal"); }

std::optional<std::string> percent_decoded(std::string_view text, plus_sign as) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && as == plus_sign::space) {
      out += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string channel_of(const request& req) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (!req.channel.empty() && req.channel.size() <= 32 && std::all_of(req.channel.begin(), req.channel.end(), plain))
    return req.channel;
  return req.user_agent.starts_with("quell/") || req.user_agent.starts_with("quell-cli") ? "cli" : "api";
}

result<void> read_target(std::string_view target, request& into) {
  if (target.empty() || target.front() != '/')
    return failure(error_code::bad_request, "the request target must be a path that begins with /");
  const auto mark = target.find('?');
  into.path = std::string(target.substr(0, mark));
  into.query.clear();
  if (mark == std::string_view::npos) return {};
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto item = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    auto name = percent_decoded(item.substr(0, equals), plus_sign::space);
    auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                  : percent_decoded(item.substr(equals + 1), plus_sign::space);
    if (!name || !value)
      return failure(error_code::bad_request, "the query string holds a broken % escape in '" +
                                                  std::string(item.substr(0, 80)) + "'; write % itself as %25");
    if (!is_utf8(*name) || !is_utf8(*value))
      return failure(error_code::bad_request, "the query string is not UTF-8; encode it as UTF-8 before escaping it");
    if (name->find('\0') != std::string::npos || value->find('\0') != std::string::npos)
      return failure(error_code::bad_request, "the query string holds a NUL byte; leave out %00");
    if (into.query.size() == max_parameters)
      return failure(error_code::bad_request, "the query string has more than 256 parameters; ask in several requests");
    into.query.emplace_back(std::move(*name), std::move(*value));
  }
  return {};
}

} // namespace quell::controller::http
