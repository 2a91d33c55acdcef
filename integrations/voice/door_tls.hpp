// The certificate of a listener, loaded anew when its files were replaced.
#pragma once

#include <functional>
#include <string>

#include "integrations/net/file_watch.hpp"
#include "integrations/net/tls_files.hpp"

namespace quell::integrations::voice {

/// Used by one thread.
class door_tls {
 public:
  /// PEM files. `warn` gets a sentence for the log; can be empty. Fault `bad_tls`: they cannot be used.
  static result<door_tls> open(const std::string& certificate, const std::string& key,
                               std::function<void(const std::string&)> warn);

  /// For the next connection: the newest pair that serves. Open connections keep theirs.
  tls_context newest();

 private:
  door_tls(const std::string& certificate, const std::string& key, std::function<void(const std::string&)> warn);

  std::string certificate_, key_;
  file_watch certificate_watch_, key_watch_;
  std::function<void(const std::string&)> warn_;
  tls_context now_;
};

} // namespace quell::integrations::voice
