// HTTPS is optional, but not by halves.
#include "gateway/tls_files.hpp"

namespace quell::controller::http {

result<tls_context> load_own_tls(const std::string& certificate, const std::string& key) {
  if (certificate.empty() && key.empty()) return tls_context{};
  if (certificate.empty() || key.empty())
    return failure("bad_tls", "TLS needs both [http] tls_cert and tls_key; only one of them is set");
  return integrations::load_tls(certificate, key);
}

} // namespace quell::controller::http
