// Whom web calls trust when the configuration does not say.
#pragma once

#include <cstdlib>
#include <string>

namespace quell::integrations {

/// The file of certificates that the environment names; "" = those of the system.
inline std::string named_ca_file() {
  for (const char* variable : {"QUELL_CA_FILE", "CURL_CA_BUNDLE"})
    if (const char* file = std::getenv(variable); file && *file) return file;
  return {};
}

} // namespace quell::integrations
