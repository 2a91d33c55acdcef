// CURVE key pairs as Z85 text.
#include <algorithm>
#include <array>

#include <zmq.h>

#include "protocol/socket.hpp"

namespace quell {

namespace {
constexpr std::size_t key_text_bytes = 40;
constexpr std::string_view z85_alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
} // namespace

key_pair key_pair::generate() {
  std::array<char, key_text_bytes + 1> public_text{}, secret_text{};
  // Fails only if libzmq is built without CURVE; `bind` and `open` then refuse the empty keys.
  if (zmq_curve_keypair(public_text.data(), secret_text.data()) != 0) return {};
  return {public_text.data(), secret_text.data()};
}

result<key_pair> key_pair::from_secret(std::string_view secret_key) {
  std::array<char, key_text_bytes + 1> public_text{};
  const std::string secret(secret_key);
  if (!is_public_key(secret) || zmq_curve_public(public_text.data(), secret.c_str()) != 0)
    return failure("bad_key", "the secret key is not a Z85 text of 40 characters; make one with `quell-worker keygen`");
  return key_pair{public_text.data(), secret};
}

bool is_public_key(std::string_view text) {
  const auto is_z85 = [](char c) { return z85_alphabet.find(c) != std::string_view::npos; };
  if (text.size() != key_text_bytes || !std::all_of(text.begin(), text.end(), is_z85)) return false;
  std::array<std::uint8_t, 32> raw{};
  return zmq_z85_decode(raw.data(), std::string(text).c_str()) != nullptr;
}

} // namespace quell
