// XMPP addresses: `local@domain/resource`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/scope.hpp"

namespace quell::integrations::chat::xmpp {

struct jid {
  std::string bare;     ///< `local@domain` or `domain`, with ASCII letters in lower case
  std::string resource; ///< "" = none; in rooms, the nick
  std::string_view domain() const;
  std::string full() const { return resource.empty() ? bare : bare + "/" + resource; }
};

/// nullopt for an invalid address: empty parts, blanks, control characters, quotes, or a part of more than 1023 bytes.
std::optional<jid> read_jid(std::string_view text);

/// `xmpp/<bare>`; nullopt if it is too long for a scope.
std::optional<scope_path> scope_of_jid(std::string_view bare);

/// The bare address of a scope at or below one; nullopt for any other scope.
std::optional<std::string> jid_of_scope(const scope_path& scope);

/// Lower-case hex of SHA-1, which XEP-0114 uses for stream id and secret.
std::string sha1_hex(std::string_view bytes);

} // namespace quell::integrations::chat::xmpp
