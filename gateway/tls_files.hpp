// Loads the certificate and key for HTTPS.
#pragma once

#include "integrations/net/tls_files.hpp"

namespace quell::controller::http {

using integrations::tls_context;

/// Both paths empty: null, no TLS. Faults of `load_tls`, and if only one is set.
result<tls_context> load_own_tls(const std::string& certificate, const std::string& key);

} // namespace quell::controller::http
