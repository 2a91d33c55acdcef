// A page from a real server on loopback, and refused addresses.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <thread>
#include <unistd.h>

#include "protocol/public_address.hpp"
#include "tests/tools/playground.hpp"

using namespace quell::testing;

namespace {

/// Answers each connection with the same bytes.
class one_page_server {
 public:
  explicit one_page_server(std::string answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~one_page_server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/page"; }

 private:
  void serve() {
    for (int peer; (peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      char request[4096];
      (void)!::read(peer, request, sizeof request);
      (void)!::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::shutdown(peer, SHUT_WR);
      ::close(peer);
    }
  }
  std::string answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

std::string page(const std::string& body, const std::string& head = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + head + "Connection: close\r\n\r\n" + body;
}

bool is_public_address(const char* text) {
  sockaddr_storage s{};
  auto* in = reinterpret_cast<sockaddr_in*>(&s);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&s);
  if (::inet_pton(AF_INET, text, &in->sin_addr) == 1)
    s.ss_family = AF_INET;
  else if (::inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
    s.ss_family = AF_INET6;
  return quell::is_public_address(reinterpret_cast<sockaddr*>(&s));
}

} // namespace

TEST_CASE("a page is fetched, cut at its limit, between two characters", "[tools]") {
  playground p;
  const json anywhere{{"private_addresses", true}};
  const one_page_server server(page("häuser"));
  const auto whole = p.good("web_fetch", {{"url", server.url()}}, anywhere);
  CHECK(whole.at("status") == 200);
  CHECK(whole.at("text") == "häuser");
  CHECK(whole.at("truncated") == false);
  const auto cut = p.good("web_fetch", {{"url", server.url()}, {"max_bytes", 2}}, anywhere);
  CHECK(cut.at("text") == "h");
  CHECK(cut.at("truncated") == true);
}

TEST_CASE("private addresses are refused, also behind a redirect", "[tools]") {
  playground p;
  const one_page_server server(page("inside"));
  CHECK(p.code("web_fetch", {{"url", server.url()}}) == "address_refused");
  CHECK(p.code("web_fetch", {{"url", "http://localhost:1/"}}) == "address_refused");
  CHECK(p.code("web_fetch", {{"url", "http://2130706433/"}}) == "address_refused"); // 127.0.0.1 as a number
  CHECK(p.code("web_fetch", {{"url", "http://[::ffff:127.0.0.1]/"}}) == "address_refused");
  CHECK(p.code("web_fetch", {{"url", "file:///etc/passwd"}}) == "invalid_input");
  CHECK(p.code("web_fetch", {{"url", "gopher://x/"}}) == "invalid_input");
  const one_page_server away(
      "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  CHECK(p.code("web_fetch", {{"url", away.url()}}, {{"private_addresses", true}}) == "fetch_failed");
}

TEST_CASE("bytes that are not text are refused", "[tools]") {
  playground p;
  const one_page_server server(page("\xff\xfe\xfd\xfc\xfb"));
  CHECK(p.code("web_fetch", {{"url", server.url()}}, {{"private_addresses", true}}) == "not_text");
}

TEST_CASE("what counts as public", "[tools]") {
  for (const char* a : {"8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"}) {
    INFO(a);
    CHECK(is_public_address(a));
  }
  for (const char* a : {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
                        "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1",
                        "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2001:db8::1", "ff02::1"}) {
    INFO(a);
    CHECK_FALSE(is_public_address(a));
  }
}
