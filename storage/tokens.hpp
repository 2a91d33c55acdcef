// One token by the hash of its secret, from the committed rows. For who asks seldom and keeps no book of tokens.
#pragma once

#include <optional>
#include <string>

#include "protocol/fault.hpp"
#include "storage/records.hpp"

namespace quell::storage {

/// Opens the store of `directory` for this one look. A revoked token is not there any more.
result<std::optional<token_record>> token_of_hash(const std::string& directory, const std::string& hash);

} // namespace quell::storage
