// Reads PEM files into a new context each time, so that a connection keeps the one with which it began.
#include "gateway/tls_files.hpp"

#include <openssl/ssl.h>

namespace quell::controller::http {

result<tls_context> load_tls(const std::string& certificate, const std::string& key) {
  if (certificate.empty() && key.empty()) return tls_context{};
  if (certificate.empty() || key.empty())
    return failure("bad_tls", "TLS needs both [http] tls_cert and tls_key; only one of them is set");
  auto tls = std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
  boost::system::error_code error;
  tls->set_options(boost::asio::ssl::context::no_tlsv1 | boost::asio::ssl::context::no_tlsv1_1, error);
  tls->use_certificate_chain_file(certificate, error);
  if (error) return failure("bad_tls", "cannot use the certificate " + certificate + ": " + error.message());
  tls->use_private_key_file(key, boost::asio::ssl::context::pem, error);
  if (error) return failure("bad_tls", "cannot use the key " + key + ": " + error.message());
  if (SSL_CTX_check_private_key(tls->native_handle()) != 1)
    return failure("bad_tls", "the key " + key + " does not belong to the certificate " + certificate);
  return tls;
}

} // namespace quell::controller::http
