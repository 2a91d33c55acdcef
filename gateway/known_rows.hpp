// The rows that were asked for last, so that an operation that is asked for again and again is not read from the store
// each time. Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "controller/records/records.hpp"
#include "controller/row_changes.hpp"
#include "gateway/recent.hpp"

namespace quell::controller::http {

class known_rows {
 public:
  struct known {
    records::operation_record row;
    std::uint64_t changes = 0;               ///< as `row_changes` counted them before the row was read
    std::shared_ptr<const std::string> text; ///< its JSON, if that depends on the row alone
  };

  /// `changes`: null = nothing is kept.
  explicit known_rows(std::shared_ptr<const row_changes> changes) : changes_(std::move(changes)) {}

  /// Call it before the row is read, and pass the count to `keep`.
  std::uint64_t changes_of(const operation_id& id) const { return changes_ ? changes_->of(id) : 0; }

  /// The row as it is on disk; null if it is not known. Valid until the next call of `keep`.
  const known* find(const operation_id& id) const {
    const auto* kept = changes_ ? rows_.find(id) : nullptr;
    return kept && kept->changes == changes_->of(id) ? kept : nullptr;
  }

  /// Keeps a row unless it is large.
  void keep(const records::operation_record& row, std::uint64_t changes) {
    if (!changes_ || bytes_of(row) > most_row_bytes) return;
    rows_.put(row.id, {row, changes, nullptr});
  }

  /// Keeps the JSON of this row, if the row is known.
  void keep_text(const records::operation_record& row, const std::string& text) {
    const auto* kept = find(row.id);
    if (!kept || kept->row != row || text.size() > most_row_bytes) return;
    rows_.put(row.id, {kept->row, kept->changes, std::make_shared<const std::string>(text)});
  }

 private:
  static constexpr std::size_t most_rows = 1024, most_row_bytes = 4 * 1024;

  /// About as many bytes as the row's texts have that can be large.
  static std::size_t bytes_of(const records::operation_record& row) {
    std::size_t bytes = row.kind_data.size() + row.call_change.size() + row.hot.result.size() + row.hot.late.size();
    for (const auto& word : row.task.command) bytes += word.size();
    for (const auto& [name, value] : row.task.env) bytes += name.size() + value.size();
    for (const auto& [name, sealed] : row.task.secrets) bytes += name.size() + sealed.size();
    for (const auto& [name, value] : row.labels) bytes += name.size() + value.size();
    return bytes;
  }

  std::shared_ptr<const row_changes> changes_;
  recent<operation_id, known> rows_{most_rows};
};

} // namespace quell::controller::http
