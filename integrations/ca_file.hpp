// Certificate authorities that web calls trust when the configuration names none.
#pragma once

#include <cstdlib>
#include <string>

namespace quell::integrations {

/// The certificate file that the environment names; "" = the system's authorities.
inline std::string named_ca_file() {
  for (const char* variable : {"QUELL_CA_FILE", "CURL_CA_BUNDLE"})
    if (const char* file = std::getenv(variable); file && *file) return file;
  return {};
}

} // namespace quell::integrations
