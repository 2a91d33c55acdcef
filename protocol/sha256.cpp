// SHA-256 with OpenSSL.
#include "protocol/sha256.hpp"

#include <array>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>

namespace quell {

namespace {

using hash_context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

/// The library looks an algorithm up under locks; once is enough.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return found;
}

} // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  thread_local const hash_context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex2(context.get(), algorithm(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1)
    throw std::runtime_error("the library gives no SHA-256");
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    text += digits[digest.at(i) >> 4];
    text += digits[digest.at(i) & 15];
  }
  return text;
}

} // namespace quell
