// The test client's socket work and parsing.
#include "tests/gateway/http_client.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/patience.hpp"

namespace quell::controller::test {

namespace {

const auto deadline = std::chrono::duration_cast<std::chrono::seconds>(testing::patient(std::chrono::seconds(60)));

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("the test client " + what + ": " + std::strerror(errno));
}

void set_deadline(int socket) {
  const timeval limit{deadline.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::pair<std::string, std::string> split_header(const std::string& line) {
  const auto colon = line.find(':');
  if (colon == std::string::npos) throw std::runtime_error("the server sent a header without a colon: " + line);
  auto name = line.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto value = line.substr(colon + 1);
  value.erase(0, value.find_first_not_of(' '));
  return {name, value};
}

} // namespace

std::string http_reply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

http_client::http_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  set_deadline(socket_);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail("could not connect");
}

http_client::http_client(const std::string& unix_path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  set_deadline(socket_);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(at.sun_path, unix_path.c_str(), sizeof at.sun_path - 1);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail("could not connect to " + unix_path);
}

http_client::~http_client() { close(); }

void http_client::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void http_client::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto n = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) fail("could not send");
    sent += static_cast<std::size_t>(n);
  }
}

void http_client::send_request(const std::string& method, const std::string& target, const header_list& headers,
                               const std::string& body) {
  std::string text = method + ' ' + target + " HTTP/1.1\r\nHost: quell\r\n";
  bool typed = false;
  for (const auto& [name, value] : headers) {
    text += name + ": " + value + "\r\n";
    typed = typed || name == "Content-Type";
  }
  if (!body.empty() && !typed) text += "Content-Type: application/json\r\n";
  if (!body.empty() || method == "POST") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(text + "\r\n" + body);
}

bool http_client::fill() {
  char bytes[16 * 1024];
  const auto n = ::recv(socket_, bytes, sizeof bytes, 0);
  if (n < 0) fail("waited " + std::to_string(deadline.count()) + " s for bytes");
  if (n == 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

bool http_client::at_end() { return buffer_.empty() && !fill(); }

std::string http_client::line() {
  while (true) {
    const auto end = buffer_.find("\r\n");
    if (end != std::string::npos) {
      auto text = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      return text;
    }
    if (!fill()) throw std::runtime_error("the server closed in the middle of a line: " + buffer_);
  }
}

std::string http_client::take(std::size_t bytes) {
  while (buffer_.size() < bytes)
    if (!fill()) throw std::runtime_error("the server closed in the middle of a body");
  auto text = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return text;
}

http_reply http_client::read_head() {
  http_reply head;
  const auto status = line();
  if (status.size() < 12 || !status.starts_with("HTTP/1.1 "))
    throw std::runtime_error("no HTTP status line: " + status);
  head.status = static_cast<unsigned>(std::stoul(status.substr(9, 3)));
  for (auto text = line(); !text.empty(); text = line()) head.headers.insert(split_header(text));
  if (head.status == 100) return read_head();
  return head;
}

std::optional<std::string> http_client::read_chunk() {
  const auto size = std::stoul(line(), nullptr, 16);
  if (size == 0) {
    for (auto text = line(); !text.empty(); text = line()) trailers_.insert(split_header(text));
    return std::nullopt;
  }
  auto bytes = take(size);
  take(2);
  return bytes;
}

std::string http_client::read_until(const std::string& wanted) {
  while (decoded_.find(wanted) == std::string::npos) {
    auto chunk = read_chunk();
    if (!chunk) throw std::runtime_error("the answer ended before '" + wanted + "' came; it was: " + decoded_);
    decoded_ += *chunk;
  }
  const auto end = decoded_.find(wanted) + wanted.size();
  auto text = decoded_.substr(0, end);
  decoded_.erase(0, end);
  return text;
}

http_reply http_client::read_reply() {
  auto answer = read_head();
  if (answer.header("transfer-encoding") == "chunked") {
    while (auto chunk = read_chunk()) answer.body += *chunk;
    answer.trailers = trailers_;
  } else if (const auto length = answer.header("content-length"); !length.empty()) {
    answer.body = take(std::stoul(length));
  } else if (answer.status != 204 && answer.status != 304) {
    while (fill()) {
    }
    answer.body.swap(buffer_);
  }
  return answer;
}

} // namespace quell::controller::test
