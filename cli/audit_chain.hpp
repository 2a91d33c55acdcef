// The audit as a chain of hashes (docs/api.md, Audit): what a copy of it proves. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace quell::cli {

class audit_chain {
 public:
  /// What is wrong with the next entry, or nullopt; then it is the last one. The first may have any number: older ones
  /// are dropped by time.
  std::optional<std::string> add(const nlohmann::json& entry);

  std::uint64_t entries() const { return entries_; }
  std::uint64_t last() const { return last_; }
  const std::string& hash() const { return hash_; }

 private:
  std::uint64_t entries_ = 0, last_ = 0;
  std::string hash_;
};

} // namespace quell::cli
