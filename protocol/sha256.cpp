// SHA-256 with OpenSSL.
#include "protocol/sha256.hpp"

#include <array>
#include <stdexcept>

#include <openssl/evp.h>

namespace quell {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
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
