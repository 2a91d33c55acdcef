// Hashes, random secrets, and reading base64.
#include "protocol/encoding.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "protocol/base64.hpp"

namespace quell {

namespace {

/// Decodes these digits, which have no padding; nullopt for any other character.
std::optional<std::string> bytes_of_digits(std::string_view text, std::string_view digits) {
  std::array<std::int16_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < digits.size(); ++i)
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int16_t>(i);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const auto value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>((bits >> held) & 0xff);
    }
  }
  return bytes;
}

using mac_context = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;

/// The library looks algorithms up under locks, so a thread keeps what it has found.
mac_context hmac_context() {
  static EVP_MAC* const found = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  mac_context made(found ? EVP_MAC_CTX_new(found) : nullptr, &EVP_MAC_CTX_free);
  std::string digest = "SHA256";
  const OSSL_PARAM with[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), digest.size()),
                             OSSL_PARAM_construct_end()};
  if (made && EVP_MAC_CTX_set_params(made.get(), with) != 1) made.reset();
  return made;
}

} // namespace

std::optional<std::string> from_base64url(std::string_view text) {
  auto bytes = bytes_of_digits(text, base64url_digits);
  if (!bytes || base64url(*bytes) != text) return std::nullopt;
  return bytes;
}

std::optional<std::string> from_base64(std::string_view text) {
  auto bytes = bytes_of_digits(text.substr(0, text.find('=')), base64_digits);
  if (!bytes || base64(*bytes) != text) return std::nullopt;
  return bytes;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  thread_local const auto context = hmac_context();
  // A key without bytes needs a pointer all the same: none means "the same key as before".
  const char* const from = key.empty() ? "" : key.data();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  std::size_t size = 0;
  if (!context || EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(from), key.size(), nullptr) != 1 ||
      EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) != 1 ||
      EVP_MAC_final(context.get(), digest.data(), &size, digest.size()) != 1)
    throw std::runtime_error("the library gives no HMAC with SHA-256");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<std::string> random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) return std::nullopt;
  return bytes;
}

} // namespace quell
