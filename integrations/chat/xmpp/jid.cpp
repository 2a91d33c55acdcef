// The parts of an address, its scope, and the hash of the handshake.
#include "integrations/chat/xmpp/jid.hpp"

#include <openssl/evp.h>

#include "integrations/chat/scope_text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

constexpr std::size_t most_part = 1023;

bool is_part(std::string_view text, std::string_view forbidden) {
  if (text.empty() || text.size() > most_part || !is_utf8(text)) return false;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F || forbidden.find(c) != std::string_view::npos) return false;
  return true;
}

} // namespace

std::string_view jid::domain() const {
  const auto at = bare.find('@');
  return at == std::string::npos ? std::string_view(bare) : std::string_view(bare).substr(at + 1);
}

std::optional<jid> read_jid(std::string_view text) {
  jid found;
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    found.resource = text.substr(slash + 1);
    if (!is_part(found.resource, "")) return std::nullopt;
    text = text.substr(0, slash);
  }
  const auto at = text.find('@');
  if (at != std::string_view::npos && !is_part(text.substr(0, at), " \"&'/:<>@")) return std::nullopt;
  if (!is_part(at == std::string_view::npos ? text : text.substr(at + 1), " \"&'/<>@")) return std::nullopt;
  for (const char c : text) found.bare += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return found;
}

std::optional<scope_path> scope_of_jid(std::string_view bare) { return scope_of({"xmpp", bare}); }

std::optional<std::string> jid_of_scope(const scope_path& scope) {
  const auto segments = scope.segments();
  if (segments.size() < 2 || segments[0] != "xmpp") return std::nullopt;
  const auto text = text_of_segment(segments[1]);
  const auto found = text ? read_jid(*text) : std::nullopt;
  if (!found || !found->resource.empty() || found->bare != *text) return std::nullopt;
  return found->bare;
}

std::string sha1_hex(std::string_view bytes) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), hash, &length, EVP_sha1(), nullptr);
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += "0123456789abcdef"[hash[i] >> 4];
    text += "0123456789abcdef"[hash[i] & 15];
  }
  return text;
}

} // namespace quell::integrations::chat::xmpp
