// HMAC with OpenSSL, and canonical base64.
#include "integrations/chat/webhook/signature.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "protocol/base64.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::string_view secret_prefix = "whsec_", version_prefix = "v1,";
constexpr std::size_t least_key_bytes = 16, most_key_bytes = 128, most_signatures = 16;

/// nullopt for anything other than padded base64.
std::optional<std::string> decoded(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const auto digit = base64_digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    held = held << 6 | static_cast<std::uint32_t>(digit);
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  return bytes;
}

} // namespace

result<std::string> webhook_key(std::string_view secret) {
  if (!secret.starts_with(secret_prefix))
    return failure(error_code::invalid_field,
                   "a webhook's secret begins with whsec_ and goes on in base64, as in the output of "
                   "`echo whsec_$(openssl rand -base64 24)`");
  auto key = decoded(secret.substr(secret_prefix.size()));
  if (!key) return failure(error_code::invalid_field, "what follows whsec_ in a webhook's secret is not base64");
  if (key->size() < least_key_bytes || key->size() > most_key_bytes)
    return failure(error_code::invalid_field, "a webhook's secret holds 16 to 128 bytes behind whsec_, in base64");
  return std::move(*key);
}

std::string webhook_signature(std::string_view key, std::string_view id, std::string_view timestamp,
                              std::string_view body) {
  std::string text;
  text.reserve(id.size() + timestamp.size() + body.size() + 2);
  text.append(id).append(1, '.').append(timestamp).append(1, '.').append(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), digest.data(), &size);
  return std::string(version_prefix) +
         base64(std::string_view(reinterpret_cast<const char*>(digest.data()), static_cast<std::size_t>(size)));
}

bool is_signed(std::string_view key, std::string_view id, std::string_view timestamp, std::string_view body,
               std::string_view header) {
  const auto ours = webhook_signature(key, id, timestamp, body);
  for (std::size_t i = 0; i < most_signatures && !header.empty(); ++i) {
    const auto space = std::min(header.find(' '), header.size());
    const auto theirs = header.substr(0, space);
    header.remove_prefix(std::min(space + 1, header.size()));
    if (theirs.size() == ours.size() && CRYPTO_memcmp(theirs.data(), ours.data(), ours.size()) == 0) return true;
  }
  return false;
}

bool is_recent(std::string_view timestamp, std::chrono::sys_seconds now) {
  std::int64_t seconds = 0;
  const auto* last = timestamp.data() + timestamp.size();
  const auto [end, error] = std::from_chars(timestamp.data(), last, seconds);
  if (error != std::errc{} || end != last || seconds < 0 || seconds > std::int64_t{1} << 40) return false;
  const auto apart = now.time_since_epoch().count() - seconds;
  return apart <= signature_tolerance.count() && -apart <= signature_tolerance.count();
}

} // namespace quell::integrations::chat
