// The audit as a chain of hashes (docs/api.md, Audit): checks the integrity of a copy. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace quell::cli {

class audit_chain {
 public:
  /// Returns the error in the next entry, or nullopt; then that entry becomes the last one. The first entry can have
  /// any number: older ones are dropped by time.
  std::optional<std::string> add(const nlohmann::json& entry);

  std::uint64_t entries() const { return entries_; }
  std::uint64_t last() const { return last_; }
  const std::string& hash() const { return hash_; }

 private:
  std::uint64_t entries_ = 0, last_ = 0;
  std::string hash_;
};

} // namespace quell::cli
