// TLS of a client: whom it trusts, and which name a certificate must bear.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace quell::cli {

using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

/// One context for each file of authorities, read when the first connection needs it.
class tls_contexts {
 public:
  /// `ca_file` "" = the system's authorities; otherwise those of the file alone. The error is for a person.
  tl::expected<boost::asio::ssl::context*, std::string> of(const std::string& ca_file);

 private:
  std::map<std::string, std::unique_ptr<boost::asio::ssl::context>> contexts_;
};

/// From then on a handshake fails unless the certificate is valid and bears `host`, a name or an IP address.
/// False if the library refuses, which is as good as a failed handshake.
bool expect_host(tls_stream& stream, const std::string& host);

/// Why a handshake failed, for a person.
std::string why_refused(tls_stream& stream, const boost::system::error_code& error);

} // namespace quell::cli
