// The certificate of a listener, loaded anew when its files were replaced.
#include "integrations/voice/door_tls.hpp"

#include <utility>

namespace quell::integrations::voice {

door_tls::door_tls(const std::string& certificate, const std::string& key, std::function<void(const std::string&)> warn)
    : certificate_(certificate), key_(key), certificate_watch_(certificate), key_watch_(key), warn_(std::move(warn)) {}

result<door_tls> door_tls::open(const std::string& certificate, const std::string& key,
                                std::function<void(const std::string&)> warn) {
  door_tls door(certificate, key, std::move(warn)); // its watches begin before the files are read
  auto loaded = load_tls(certificate, key);
  if (!loaded) return tl::unexpected(loaded.error());
  door.now_ = std::move(*loaded);
  return door;
}

tls_context door_tls::newest() {
  const bool new_certificate = certificate_watch_.has_changed(), new_key = key_watch_.has_changed();
  if (!new_certificate && !new_key) return now_;
  if (auto fresh = load_tls(certificate_, key_))
    now_ = std::move(*fresh);
  else if (warn_) // probably one of the two files is still to come
    warn_("voice: the certificate in use stays, as the new files do not serve: " + fresh.error().detail);
  return now_;
}

} // namespace quell::integrations::voice
