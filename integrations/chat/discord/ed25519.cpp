// Ed25519 with OpenSSL.
#include "integrations/chat/discord/ed25519.hpp"

#include <openssl/evp.h>

#include <memory>

namespace quell::integrations::chat::discord {
namespace {

constexpr std::size_t key_bytes = 32, signature_bytes = 64;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

} // namespace

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit_of(digits[i]), low = digit_of(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

bool is_ed25519_signed(std::string_view public_key, std::string_view message, std::string_view signature) {
  if (public_key.size() != key_bytes || signature.size() != signature_bytes) return false;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(public_key), key_bytes), EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!key || !context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) return false;
  return EVP_DigestVerify(context.get(), bytes_of(signature), signature_bytes, bytes_of(message), message.size()) == 1;
}

} // namespace quell::integrations::chat::discord
