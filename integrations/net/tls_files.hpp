// Reads the certificate and the key of a server.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "protocol/fault.hpp"

namespace quell::integrations {

using tls_context = std::shared_ptr<boost::asio::ssl::context>;

/// PEM files, read into a new context each time, so that a connection keeps the one with which it began. Fault
/// `bad_tls`: an unusable file, or a key that does not belong to the certificate.
result<tls_context> load_tls(const std::string& certificate, const std::string& key);

} // namespace quell::integrations
