// Bearer tokens: stored ones (`qk_…`, only their hash is kept) and those minted for tasks (`qt_…`, a pure function of
// id and key).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/records/records.hpp"
#include "protocol/fault.hpp"
#include "protocol/id.hpp"

namespace quell::controller {

/// QUELL_TOKEN of a task: "qt_", the id as 32 hex digits, and HMAC-SHA256(key, id) as base64url. Pure; needs no store.
std::string mint_task_token(const operation_id& id, std::string_view key);
/// The operation for which `token` was minted with this key; nullopt for any other text. Does not check whether the
/// operation is still live.
std::optional<operation_id> verify_task_token(std::string_view token, std::string_view key);

/// A fresh secret "qk_" and 32 random bytes as base64url. Fault `internal` without randomness.
result<std::string> fresh_token_secret();
/// The stored form of a secret: SHA-256, hex.
std::string token_hash(std::string_view secret);

/// The stored tokens in memory, by hash. One thread.
class token_table {
 public:
  void put(records::token_record record);
  void drop(const token_id& id);
  /// The token of the secret with this `token_hash` if it is not expired at `now`; records its use.
  const records::token_record* find_hash(const std::string& hash, wall_time now);
  /// The token of this secret, if there is one and it has expired.
  const records::token_record* find_expired(std::string_view secret, wall_time now) const;
  /// True if the token still exists and is not expired.
  bool is_good(const token_id& id, wall_time now) const;
  /// The record with its last use, if the stored time of use is more than a minute old (it then counts as stored).
  std::optional<records::token_record> use_to_store(const token_id& id);
  const records::token_record* by_id(const token_id& id) const;
  /// Newest first.
  std::vector<records::token_record> list() const;

 private:
  std::unordered_map<std::string, records::token_record> by_hash_;
  std::unordered_map<token_id, std::string> hashes_;
  std::unordered_map<token_id, wall_time> uses_stored_;
};

} // namespace quell::controller
