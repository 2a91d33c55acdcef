// Binds the gateway's listening sockets.
#include "gateway/listener.hpp"

#include <charconv>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace quell::controller::http {

namespace {

using boost::asio::generic::stream_protocol;
using listener_error = boost::system::error_code;

tl::unexpected<fault> bad_address(const std::string& address, const std::string& why) {
  return failure("bad_address",
                 "cannot listen on " + address + ": " + why + "; give HOST:PORT, such as 127.0.0.1:7710 or [::1]:7710");
}

/// True if a process answers on this Unix socket.
bool is_alive(boost::asio::execution_context& context, const boost::asio::local::stream_protocol::endpoint& at) {
  boost::asio::local::stream_protocol::socket probe(static_cast<boost::asio::io_context&>(context));
  listener_error error;
  probe.connect(at, error);
  return !error;
}

} // namespace

result<listening_port> listen_tcp(any_acceptor& acceptor, const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return bad_address(address, "the port is missing");
  listening_port bound;
  bound.host = address.substr(0, colon);
  const auto digits = std::string_view(address).substr(colon + 1);
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), bound.port);
  if (bad != std::errc{} || end != digits.data() + digits.size() || digits.empty())
    return bad_address(address, "the port is not a number below 65536");
  auto host = bound.host;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  listener_error error;
  const auto ip = boost::asio::ip::make_address(host, error);
  if (error) return bad_address(address, "'" + host + "' is not an IP address");
  bound.is_loopback = ip.is_loopback();
  const boost::asio::ip::tcp::endpoint at(ip, bound.port);
  acceptor.open(at.protocol(), error);
  if (!error) acceptor.set_option(boost::asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(stream_protocol::endpoint(at), error);
  if (!error) acceptor.listen(4096, error);
  if (error == boost::asio::error::address_in_use)
    return failure("address_in_use", "cannot listen on " + address +
                                         ": another process uses this port; stop it, or give another port "
                                         "in [http] listen (port 0 = a free one)");
  if (error) return bad_address(address, error.message());
  const auto in_use = acceptor.local_endpoint(error);
  if (error) return bad_address(address, error.message());
  sockaddr_storage raw{};
  std::memcpy(&raw, in_use.data(), std::min(in_use.size(), sizeof raw));
  bound.port = ntohs(raw.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(raw).sin6_port
                                               : reinterpret_cast<const sockaddr_in&>(raw).sin_port);
  return bound;
}

result<void> listen_unix(any_acceptor& acceptor, const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return failure("bad_address", "cannot listen on the Unix socket " + path +
                                      ": the path is longer than 107 bytes; use a shorter state directory");
  const boost::asio::local::stream_protocol::endpoint at(path);
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return failure("bad_address",
                     "cannot listen on " + path + ": a file that is not a socket is there; move it away");
    if (is_alive(acceptor.get_executor().context(), at))
      return failure("address_in_use", "cannot listen on " + path + ": another process answers there; stop it first");
    ::unlink(path.c_str());
  }
  listener_error error;
  acceptor.open(at.protocol(), error);
  if (!error) acceptor.bind(stream_protocol::endpoint(at), error);
  if (!error && ::chmod(path.c_str(), 0600) != 0) error = listener_error(errno, boost::system::system_category());
  if (!error) acceptor.listen(1024, error);
  if (error) return failure("bad_address", "cannot listen on the Unix socket " + path + ": " + error.message());
  return {};
}

} // namespace quell::controller::http
