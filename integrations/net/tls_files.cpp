// A server's context from PEM files.
#include "integrations/net/tls_files.hpp"

#include <openssl/ssl.h>

namespace quell::integrations {

result<tls_context> load_tls(const std::string& certificate, const std::string& key) {
  using ssl = boost::asio::ssl::context;
  auto tls = std::make_shared<ssl>(ssl::tls_server);
  boost::system::error_code error;
  tls->set_options(ssl::default_workarounds | ssl::no_tlsv1 | ssl::no_tlsv1_1, error);
  tls->use_certificate_chain_file(certificate, error);
  if (error) return failure("bad_tls", "cannot use the certificate " + certificate + ": " + error.message());
  tls->use_private_key_file(key, ssl::pem, error);
  if (error) return failure("bad_tls", "cannot use the key " + key + ": " + error.message());
  if (SSL_CTX_check_private_key(tls->native_handle()) != 1)
    return failure("bad_tls", "the key " + key + " does not belong to the certificate " + certificate);
  return tls;
}

} // namespace quell::integrations
