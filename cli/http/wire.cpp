// A TCP socket with a client's options.
#include "cli/http/wire.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>
#include <cerrno>

namespace quell::cli {
namespace {

/// A server that is gone without a word is noticed after a minute: a stream is silent for as long as its task.
void set_options(int socket) {
  const auto set = [socket](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
  };
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
}

} // namespace

void wire::connect(const boost::asio::ip::tcp::endpoint& to, std::function<void(const error_code&)> done) {
  error_code error;
  socket_.open(to.protocol(), error);
  if (error) {
    boost::asio::post(socket_.get_executor(), [error, done = std::move(done)] { done(error); });
    return;
  }
  set_options(socket_.native_handle());
  socket_.async_connect(to, [self = shared_from_this(), done = std::move(done)](const error_code& e) { done(e); });
}

void wire::secure(boost::asio::ssl::context& context, const std::string& host, std::function<void(std::string)> done) {
  tls_.emplace(socket_, context);
  const bool is_set = expect_host(*tls_, host);
  if (!is_set) close();
  tls_->async_handshake(boost::asio::ssl::stream_base::client,
                        [self = shared_from_this(), is_set, host, done = std::move(done)](const error_code& e) {
                          if (!is_set) return done("'" + host + "' is not a name that a certificate can contain");
                          done(e ? why_refused(*self->tls_, e) : std::string());
                        });
}

void wire::write(std::string_view bytes, handler done) {
  const auto buffer = boost::asio::buffer(bytes.data(), bytes.size());
  auto then = [self = shared_from_this(), done = std::move(done)](const error_code& e, std::size_t n) { done(e, n); };
  if (tls_)
    boost::asio::async_write(*tls_, buffer, std::move(then));
  else
    boost::asio::async_write(socket_, buffer, std::move(then));
}

void wire::read(boost::asio::mutable_buffer room, handler done) {
  auto then = [self = shared_from_this(), done = std::move(done)](const error_code& e, std::size_t n) { done(e, n); };
  if (tls_)
    tls_->async_read_some(room, std::move(then));
  else
    socket_.async_read_some(room, std::move(then));
}

bool wire::is_idle() {
  char byte = 0;
  const auto n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

void wire::close() {
  error_code ignored;
  socket_.close(ignored);
}

} // namespace quell::cli
