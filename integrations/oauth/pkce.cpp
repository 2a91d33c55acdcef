// Unguessable values, from OpenSSL.
#include "integrations/oauth/pkce.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

namespace quell::integrations::oauth {
namespace {

std::string base64url(std::string_view bytes) {
  std::string text = base64(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.resize(text.find_last_not_of('=') + 1);
  return text;
}

} // namespace

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string fresh_secret() {
  std::array<char, 32> raw{};
  for (std::size_t got = 0; got < raw.size();) {
    const auto n = ::getrandom(raw.data() + got, raw.size() - got, 0);
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  return base64url({raw.data(), raw.size()});
}

std::string s256_challenge(std::string_view verifier) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_Digest(verifier.data(), verifier.size(), digest.data(), &length, EVP_sha256(), nullptr);
  return base64url({reinterpret_cast<const char*>(digest.data()), length});
}

bool same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

} // namespace quell::integrations::oauth
