// Finds one token by the hash of its secret, in the committed rows. For callers that ask rarely and keep no table of
// tokens.
#pragma once

#include <optional>
#include <string>

#include "controller/records/records.hpp"
#include "protocol/fault.hpp"
#include "storage/record_names.hpp"

namespace quell::storage {

/// Opens the store of `directory` for this one query. A revoked token is not found.
result<std::optional<token_record>> token_of_hash(const std::string& directory, const std::string& hash);

} // namespace quell::storage
