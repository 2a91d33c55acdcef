// The certificate and key that HTTPS is served with.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "protocol/fault.hpp"

namespace quell::controller::http {

using tls_context = std::shared_ptr<boost::asio::ssl::context>;

/// Both paths empty: null, no TLS. Fault `bad_tls`: a file that cannot be used, or a key of another certificate.
result<tls_context> load_tls(const std::string& certificate, const std::string& key);

} // namespace quell::controller::http
