// Blocking sockets, one thread for each connection.
#include "tests/cli/http/scripted_server.hpp"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace quell::cli::test {
namespace {

SSL_CTX* context_of(const identity& who) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO* text = BIO_new_mem_buf(who.certificate.data(), static_cast<int>(who.certificate.size()));
  X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  text = BIO_new_mem_buf(who.key.data(), static_cast<int>(who.key.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  if (SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
    throw std::runtime_error("the server's certificate is not usable");
  X509_free(certificate);
  EVP_PKEY_free(key);
  return context;
}

} // namespace

std::string served::read_some() {
  char bytes[16384];
  const auto n = tls_ ? SSL_read(tls_, bytes, sizeof bytes) : ::recv(socket_, bytes, sizeof bytes, 0);
  return n > 0 ? std::string(bytes, static_cast<std::size_t>(n)) : std::string();
}

std::string served::request() {
  while (true) {
    const auto end = arrived_.find("\r\n\r\n");
    if (end != std::string::npos) {
      std::size_t size = end + 4;
      if (const auto at = arrived_.find("Content-Length: "); at < end) size += std::stoul(arrived_.substr(at + 16));
      if (arrived_.size() >= size) {
        const auto whole = arrived_.substr(0, size);
        arrived_.erase(0, size);
        return whole;
      }
    }
    const auto more = read_some();
    if (more.empty()) return {};
    arrived_ += more;
  }
}

void served::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = tls_ ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                        : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool served::client_closes() {
  while (!read_some().empty()) continue;
  char byte = 0;
  const auto n = ::recv(socket_, &byte, 1, MSG_DONTWAIT); // a read that ran into its limit left the connection open
  return n == 0 || (n < 0 && errno != EAGAIN);
}

void served::close() {
  if (tls_) SSL_shutdown(tls_);
  ::shutdown(socket_, SHUT_RDWR);
}

void served::cut() { ::shutdown(socket_, SHUT_RDWR); }

scripted_server::scripted_server(script s, const identity* with_tls, on family) : script_(std::move(s)) {
  ::signal(SIGPIPE, SIG_IGN); // OpenSSL writes without MSG_NOSIGNAL
  if (with_tls) tls_ = context_of(*with_tls);
  const bool six = family == on::ipv6;
  listener_ = ::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 other{};
  other.sin6_family = AF_INET6;
  other.sin6_addr = in6addr_loopback;
  const auto address = six ? reinterpret_cast<sockaddr*>(&other) : reinterpret_cast<sockaddr*>(&four);
  socklen_t size = six ? sizeof other : sizeof four;
  if (::bind(listener_, address, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, address, &size) != 0)
    throw std::runtime_error("loopback cannot be listened on");
  port_ = ntohs(six ? other.sin6_port : four.sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

scripted_server::~scripted_server() {
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  for (auto& thread : serving_) thread.join();
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
  SSL_CTX_free(tls_);
}

void scripted_server::accept_all() {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const timeval limit{60, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    serving_.emplace_back([this, socket, number = static_cast<int>(sockets_.size())] { serve(socket, number); });
  }
}

void scripted_server::serve(int socket, int number) {
  SSL* tls = nullptr;
  if (tls_) {
    tls = SSL_new(tls_);
    SSL_set_fd(tls, socket);
    if (SSL_accept(tls) != 1) {
      SSL_free(tls);
      ::shutdown(socket, SHUT_RDWR);
      return;
    }
  }
  served connection(socket, number, tls);
  script_(connection);
  connection.close();
  SSL_free(tls);
}

std::string scripted_server::url(const std::string& path, const std::string& host) const {
  return (tls_ ? "https://" : "http://") + host + ":" + std::to_string(port_) + path;
}

int scripted_server::connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(sockets_.size());
}

std::string answer_of(std::string_view body, int status, std::string_view more_headers) {
  return "HTTP/1.1 " + std::to_string(status) + " Word\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more_headers) + "\r\n" + std::string(body);
}

} // namespace quell::cli::test
