// Minting, hashing and looking up bearer tokens.
#include "gateway/tokens.hpp"

#include <algorithm>

#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller {

namespace {

constexpr std::string_view task_prefix = "qt_";
constexpr std::string_view stored_prefix = "qk_";
constexpr std::size_t id_digits = 32;
/// A use is written at most this often.
constexpr std::chrono::minutes use_note_interval{1};

std::string bare_hex(const operation_id& id) {
  auto text = id.text();
  std::erase(text, '-');
  return text;
}

} // namespace

std::string mint_task_token(const operation_id& id, std::string_view key) {
  const auto hex = bare_hex(id);
  return std::string(task_prefix) + hex + base64url(hmac_sha256(key, "task " + hex));
}

std::optional<operation_id> verify_task_token(std::string_view token, std::string_view key) {
  if (!token.starts_with(task_prefix) || token.size() < task_prefix.size() + id_digits) return std::nullopt;
  std::string text(token.substr(task_prefix.size(), id_digits));
  for (const std::size_t at : {8U, 13U, 18U, 23U}) text.insert(at, 1, '-');
  const auto id = operation_id::parse(text);
  if (!id || !equal_in_constant_time(mint_task_token(*id, key), token)) return std::nullopt;
  return id;
}

result<std::string> fresh_token_secret() {
  const auto bytes = random_bytes(32);
  if (!bytes)
    return failure(error_code::internal,
                   "the kernel gave no random bytes for a new token; nothing was made, try again");
  return std::string(stored_prefix) + base64url(*bytes);
}

std::string token_hash(std::string_view secret) { return sha256_hex(secret); }

void token_table::put(records::token_record record) {
  drop(record.id);
  hashes_[record.id] = record.hash;
  if (record.last_used_at) uses_stored_[record.id] = *record.last_used_at;
  by_hash_[record.hash] = std::move(record);
}

void token_table::drop(const token_id& id) {
  const auto found = hashes_.find(id);
  if (found == hashes_.end()) return;
  by_hash_.erase(found->second);
  uses_stored_.erase(id);
  hashes_.erase(found);
}

const records::token_record* token_table::find_hash(const std::string& hash, wall_time now) {
  // Looked up by the hash of the sent token: the time of the lookup reveals nothing about another caller's secret.
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || !equal_in_constant_time(found->second.hash, hash)) return nullptr;
  if (found->second.expires_at && *found->second.expires_at <= now) return nullptr;
  found->second.last_used_at = now;
  return &found->second;
}

const records::token_record* token_table::find_expired(std::string_view secret, wall_time now) const {
  const auto hash = token_hash(secret);
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || !equal_in_constant_time(found->second.hash, hash)) return nullptr;
  return found->second.expires_at && *found->second.expires_at <= now ? &found->second : nullptr;
}

bool token_table::is_good(const token_id& id, wall_time now) const {
  const auto* record = by_id(id);
  return record && !(record->expires_at && *record->expires_at <= now);
}

std::optional<records::token_record> token_table::use_to_store(const token_id& id) {
  const auto* record = by_id(id);
  if (!record || !record->last_used_at) return std::nullopt;
  const auto stored = uses_stored_.find(id);
  if (stored != uses_stored_.end() && *record->last_used_at - stored->second < use_note_interval) return std::nullopt;
  uses_stored_[id] = *record->last_used_at;
  return *record;
}

const records::token_record* token_table::by_id(const token_id& id) const {
  const auto found = hashes_.find(id);
  return found == hashes_.end() ? nullptr : &by_hash_.at(found->second);
}

std::vector<records::token_record> token_table::list() const {
  std::vector<records::token_record> all;
  for (const auto& [hash, record] : by_hash_) all.push_back(record);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return b.id < a.id; });
  return all;
}

} // namespace quell::controller
