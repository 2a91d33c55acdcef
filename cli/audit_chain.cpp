// Computes SHA-256 over the fields of an entry, as storage/audit.cpp does.
#include "cli/audit_chain.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "cli/fields.hpp"

namespace quell::cli {
namespace {

std::string sha256(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) return {};
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[digest.at(i) >> 4];
    hex += digits[digest.at(i) & 15];
  }
  return hex;
}

} // namespace

std::optional<std::string> audit_chain::add(const nlohmann::json& entry) {
  const auto n = static_cast<std::uint64_t>(number_of(entry, "n"));
  const auto at = instant_of(entry, "at");
  const auto name = "entry " + std::to_string(n);
  if (n == 0 || !at || !member(entry, "data").is_object()) return "a line is not an entry of the audit";
  const auto previous = text_of(entry, "previous");
  if (entries_ > 0 && n != last_ + 1)
    return "entry " + std::to_string(last_) + " is followed by " + name + ": entries are missing or out of order";
  if (entries_ > 0 && previous != hash_) return name + " does not follow the one before it: one of them was changed";
  const auto data = member(entry, "data").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto wanted =
      sha256(previous + '\n' + std::to_string(n) + '\n' + std::to_string(at->time_since_epoch().count()) + '\n' + data);
  if (wanted.empty()) return "this machine's OpenSSL gives no SHA-256";
  if (text_of(entry, "hash") != wanted) return name + " is not what its hash says: it was changed";
  ++entries_;
  last_ = n;
  hash_ = wanted;
  return std::nullopt;
}

} // namespace quell::cli
