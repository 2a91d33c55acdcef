// Slack's signature with OpenSSL's HMAC.
#include "integrations/chat/slack/signature.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>

namespace quell::integrations::chat {

std::string slack_signature(std::string_view secret, std::string_view timestamp, std::string_view body) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string base = "v0:";
  base.append(timestamp).append(":").append(body);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(base.data()), base.size(), mac, &length);
  std::string text = "v0=";
  for (unsigned i = 0; i < length; ++i) {
    text += digits[mac[i] >> 4];
    text += digits[mac[i] & 15];
  }
  return text;
}

slack_check check_slack(std::string_view secret, std::string_view signature, std::string_view timestamp,
                        std::string_view body, std::int64_t now) {
  if (secret.empty()) return slack_check::wrong;
  const auto expected = slack_signature(secret, timestamp, body);
  if (expected.size() != signature.size() || CRYPTO_memcmp(expected.data(), signature.data(), expected.size()) != 0)
    return slack_check::wrong;
  std::int64_t at = 0;
  const auto* end = timestamp.data() + timestamp.size();
  const auto read = std::from_chars(timestamp.data(), end, at);
  if (read.ec != std::errc{} || read.ptr != end || at < 0) return slack_check::wrong;
  return at < now - slack_tolerance || at > now + slack_tolerance ? slack_check::stale : slack_check::good;
}

} // namespace quell::integrations::chat
