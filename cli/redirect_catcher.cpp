// A web server for one request: whatever connects, only a request with the right state counts.
#include "cli/redirect_catcher.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace quell::cli {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::string_view path = "/callback";
constexpr std::size_t most_bytes = 16 << 10, most_fields = 32;
constexpr std::chrono::milliseconds allowance{2'000}; ///< for one connection

std::string decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_pair = text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (is_pair) {
      made += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      made += text[i] == '+' ? ' ' : text[i];
    }
  }
  return made;
}

int left(clock::time_point until) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000));
}

/// The head of a request, or the part that came in time.
std::string head_of(int connection) {
  std::string head;
  const auto until = clock::now() + allowance;
  while (head.size() < most_bytes && head.find("\r\n\r\n") == std::string::npos) {
    pollfd one{connection, POLLIN, 0};
    if (::poll(&one, 1, left(until)) <= 0) break;
    char bytes[4096];
    const auto got = ::recv(connection, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    head.append(bytes, static_cast<std::size_t>(got));
  }
  return head;
}

void reply(int connection, std::string_view status, std::string_view words) {
  const std::string page = "<!doctype html><meta charset=\"utf-8\"><title>quell</title><p>" + std::string(words);
  const std::string all =
      "HTTP/1.1 " + std::string(status) +
      "\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " + std::to_string(page.size()) +
      "\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n" + page;
  (void)!::send(connection, all.data(), all.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool carries(const redirect_fields& fields, const std::string& state) {
  const auto found = fields.find("state");
  return found != fields.end() && found->second == state;
}

std::optional<redirect_fields> serve(int connection, const std::string& state) {
  std::string_view line;
  const std::string head = head_of(connection);
  line = std::string_view(head).substr(0, head.find("\r\n"));
  constexpr std::string_view get = "GET ";
  if (!line.starts_with(get))
    return reply(connection, "405 Method Not Allowed", "Nothing is taken here."), std::nullopt;
  line.remove_prefix(get.size());
  const auto target = line.substr(0, line.find(' '));
  auto fields = fields_of_redirect(target);
  if (target.substr(0, target.find('?')) != path || !carries(fields, state))
    return reply(connection, "404 Not Found", "This is not the login that quell waits for."), std::nullopt;
  reply(connection, "200 OK",
        "quell has what it needs: the terminal says how the login ended. This window may be closed.");
  return fields;
}

} // namespace

redirect_fields fields_of_redirect(std::string_view target) {
  redirect_fields fields;
  const auto begin = target.find('?');
  if (begin == std::string_view::npos) return fields;
  target.remove_prefix(begin + 1);
  target = target.substr(0, target.find('#'));
  while (!target.empty() && fields.size() < most_fields) {
    const auto one = target.substr(0, target.find('&'));
    target.remove_prefix(std::min(one.size() + 1, target.size()));
    const auto equals = std::min(one.find('='), one.size());
    fields.emplace(decoded(one.substr(0, equals)), decoded(one.substr(std::min(equals + 1, one.size()))));
  }
  return fields;
}

redirect_catcher::redirect_catcher(redirect_catcher&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)), uri_(std::move(other.uri_)) {}

redirect_catcher::~redirect_catcher() {
  if (listener_ >= 0) ::close(listener_);
}

answer<redirect_catcher> redirect_catcher::open() {
  redirect_catcher made;
  made.listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool listens = made.listener_ >= 0 &&
                       ::bind(made.listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                       ::listen(made.listener_, 16) == 0 &&
                       ::getsockname(made.listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (!listens)
    return tl::unexpected(
        local_problem(error_code::internal, "no port of 127.0.0.1 can be listened on for the browser"));
  made.uri_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + std::string(path);
  return made;
}

answer<redirect_fields> redirect_catcher::wait(const std::string& state, std::chrono::seconds limit,
                                               bool may_be_pasted) {
  const auto until = clock::now() + limit;
  std::string typed;
  while (clock::now() < until) {
    pollfd both[2] = {{listener_, POLLIN, 0}, {may_be_pasted ? STDIN_FILENO : -1, POLLIN, 0}};
    if (::poll(both, 2, left(until)) <= 0) continue;
    if (both[0].revents & POLLIN) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      auto fields = serve(connection, state);
      ::close(connection);
      if (fields) return *fields;
    }
    if (both[1].revents != 0) {
      char bytes[4096];
      const auto got = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (got <= 0 || typed.size() > most_bytes) may_be_pasted = false;
      if (got > 0) typed.append(bytes, static_cast<std::size_t>(got));
      for (auto end = typed.find('\n'); end != std::string::npos; end = typed.find('\n')) {
        auto line = typed.substr(0, end);
        typed.erase(0, end + 1);
        line.erase(std::find_if(line.begin(), line.end(), [](char c) { return c == '\r' || c == ' '; }), line.end());
        if (auto fields = fields_of_redirect(line); carries(fields, state)) return fields;
      }
    }
  }
  return tl::unexpected(
      local_problem(error_code::login_failed,
                    "no browser came back within " + std::to_string(limit.count()) + " s; begin the login again"));
}

} // namespace quell::cli
