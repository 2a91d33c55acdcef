// Layout: nonce (12 bytes), tag (16 bytes), ciphertext.
#include "gateway/sealed_secret.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <memory>

namespace quell::controller {

namespace {

constexpr std::size_t nonce_bytes = 12, tag_bytes = 16;
using cipher_context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

/// A derived key, since the key itself makes tokens.
std::array<unsigned char, 32> sealing_key(std::string_view key) {
  constexpr std::string_view purpose = "quell: secrets of tasks";
  std::array<unsigned char, 32> out{};
  unsigned size = out.size();
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(purpose), purpose.size(), out.data(), &size);
  return out;
}

} // namespace

std::optional<std::string> seal_secret(std::string_view key, std::string_view name, std::string_view contents) {
  std::string out(nonce_bytes + tag_bytes + contents.size(), '\0');
  auto* at = reinterpret_cast<unsigned char*>(out.data());
  if (::RAND_bytes(at, static_cast<int>(nonce_bytes)) != 1) return std::nullopt;
  const auto secret = sealing_key(key);
  const cipher_context with(::EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int size = 0;
  if (!with || ::EVP_EncryptInit_ex(with.get(), EVP_aes_256_gcm(), nullptr, secret.data(), at) != 1 ||
      ::EVP_EncryptUpdate(with.get(), nullptr, &size, bytes_of(name), static_cast<int>(name.size())) != 1 ||
      ::EVP_EncryptUpdate(with.get(), at + nonce_bytes + tag_bytes, &size, bytes_of(contents),
                          static_cast<int>(contents.size())) != 1 ||
      ::EVP_EncryptFinal_ex(with.get(), at + nonce_bytes + tag_bytes + size, &size) != 1 ||
      ::EVP_CIPHER_CTX_ctrl(with.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag_bytes), at + nonce_bytes) != 1)
    return std::nullopt;
  return out;
}

std::optional<std::string> open_secret(std::string_view key, std::string_view name, std::string_view sealed) {
  if (sealed.size() < nonce_bytes + tag_bytes) return std::nullopt;
  const auto secret = sealing_key(key);
  const auto body = sealed.substr(nonce_bytes + tag_bytes);
  std::string tag(sealed.substr(nonce_bytes, tag_bytes));
  std::string out(body.size(), '\0');
  auto* at = reinterpret_cast<unsigned char*>(out.data());
  const cipher_context with(::EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int size = 0;
  if (!with || ::EVP_DecryptInit_ex(with.get(), EVP_aes_256_gcm(), nullptr, secret.data(), bytes_of(sealed)) != 1 ||
      ::EVP_DecryptUpdate(with.get(), nullptr, &size, bytes_of(name), static_cast<int>(name.size())) != 1 ||
      ::EVP_DecryptUpdate(with.get(), at, &size, bytes_of(body), static_cast<int>(body.size())) != 1 ||
      ::EVP_CIPHER_CTX_ctrl(with.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(tag_bytes), tag.data()) != 1 ||
      ::EVP_DecryptFinal_ex(with.get(), at + size, &size) != 1)
    return std::nullopt;
  return out;
}

std::map<std::string, std::string> open_secrets(std::string_view key,
                                                const std::map<std::string, std::string>& sealed) {
  std::map<std::string, std::string> opened;
  for (const auto& [name, bytes] : sealed) opened.emplace(name, open_secret(key, name, bytes).value_or(""));
  return opened;
}

} // namespace quell::controller
