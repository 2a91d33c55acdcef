// OpenSSL's settings behind Boost.Asio.
#include "cli/http/tls.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>

namespace quell::cli {

namespace ssl = boost::asio::ssl;

tl::expected<ssl::context*, std::string> tls_contexts::of(const std::string& ca_file) {
  auto& place = contexts_[ca_file];
  if (place) return place.get();
  boost::system::error_code error;
  auto fresh = std::make_unique<ssl::context>(ssl::context::tls_client);
  ::SSL_CTX_set_min_proto_version(fresh->native_handle(), TLS1_2_VERSION);
  if (ca_file.empty())
    fresh->set_default_verify_paths(error);
  else
    fresh->load_verify_file(ca_file, error);
  if (error)
    return tl::unexpected((ca_file.empty() ? std::string("the system's certificate authorities")
                                           : "the file of certificate authorities " + ca_file) +
                          " cannot be read: " + error.message());
  fresh->set_verify_mode(ssl::verify_peer, error);
  place = std::move(fresh);
  return place.get();
}

bool expect_host(tls_stream& stream, const std::string& host) {
  SSL* own = stream.native_handle();
  static constexpr unsigned char protocols[] = "\x08http/1.1";
  ::SSL_set_alpn_protos(own, protocols, sizeof protocols - 1);
  boost::system::error_code error;
  boost::asio::ip::make_address(host, error);
  if (!error) return ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(own), host.c_str()) == 1;
  ::SSL_set_hostflags(own, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return ::SSL_set_tlsext_host_name(own, host.c_str()) == 1 && ::SSL_set1_host(own, host.c_str()) == 1;
}

std::string why_refused(tls_stream& stream, const boost::system::error_code& error) {
  const long verdict = ::SSL_get_verify_result(stream.native_handle());
  if (verdict != X509_V_OK)
    return std::string("its certificate is not accepted: ") + ::X509_verify_cert_error_string(verdict);
  if (error == boost::asio::error::eof || error == ssl::error::stream_truncated)
    return "the server ended the connection during the TLS handshake";
  return "the TLS handshake failed: " + error.message();
}

} // namespace quell::cli
