// Approvals for good: one exact call of one agent in one place, until it expires or is taken back.
// Kept in one private file, so that a restart knows them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/records/records.hpp"

namespace quell::controller::turns {

struct standing_rule {
  std::string id;
  scope_path scope;  ///< exactly this place
  std::string agent; ///< that makes the call
  std::string tool;
  std::string input; ///< JSON text with sorted keys: exactly this
  std::string rule;  ///< of `[[approval]]`, which asked: if another one asks, a human decides again
  records::person by;
  wall_time created_at{}, expires_at{};
  friend bool operator==(const standing_rule&, const standing_rule&) = default;
};

/// JSON text whose keys are sorted, so that equal inputs have equal texts. Text that is not JSON stays as it is.
std::string sorted_input(const std::string& input);
/// The rule that approving this call for good would make; without id and times. nullopt: no rule asked about it.
std::optional<standing_rule> standing_rule_for(const records::operation_record& call, const std::string& agent);

/// Any thread. `add` and `revoke` wait for the disk.
class standing_rules {
 public:
  static constexpr std::size_t most_rules = 5'000, most_input_bytes = 16 << 10;
  /// No scope, and no guild with all its channels, takes the room of the others: once half of
  /// the room is taken, a guild gets no more than `small_guild`. A file with more keeps them.
  static constexpr std::size_t most_of_scope = 200, most_of_guild = 500, small_guild = 10;
  static constexpr std::size_t most_bytes = 16 << 20, most_bytes_of_guild = 2 << 20; ///< of inputs

  /// `directory`/approval_rules.json; "" = nothing is kept on disk. A file that cannot be read is a fault.
  static result<std::shared_ptr<standing_rules>> open(const std::string& directory);

  /// Durable when it returns. The same call again keeps its id and gets the new expiry. Faults: `too_many_operations`,
  /// `invalid_field`, `storage_unavailable`.
  result<standing_rule> add(standing_rule rule, wall_time now);
  /// Those that have not expired, oldest first.
  std::vector<standing_rule> all(wall_time now) const;
  /// Durable when it returns; false: there is none.
  result<bool> revoke(const std::string& id, wall_time now);
  /// Whether this call may begin without a human although `rule` asks.
  bool covers(const scope_path& scope, const std::string& agent, const std::string& tool, const std::string& input,
              const std::string& rule, wall_time now) const;

 private:
  using by_key = std::map<std::string, standing_rule>;
  result<void> replace(by_key rules);

  std::string file_;
  std::mutex writing_; ///< one change after the other
  mutable std::mutex guard_;
  by_key rules_;
};

} // namespace quell::controller::turns
