// Loads the certificate and key for HTTPS.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "protocol/fault.hpp"

namespace quell::controller::http {

using tls_context = std::shared_ptr<boost::asio::ssl::context>;

/// Both paths empty: null, no TLS. Fault `bad_tls`: an unusable file, or a key that does not belong to the certificate.
result<tls_context> load_tls(const std::string& certificate, const std::string& key);

} // namespace quell::controller::http
