// The rows that were asked for last, so that an operation that is asked for again and again is not read from the store
// each time. Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "controller/core_activity.hpp"
#include "controller/records/records.hpp"
#include "controller/row_changes.hpp"
#include "gateway/recent.hpp"

namespace quell::controller::http {

class known_rows {
 public:
  struct known {
    records::operation_record row;
    std::uint64_t changes = 0;                    ///< as `row_changes` counted them before the row was read
    std::shared_ptr<const std::string> text;      ///< its JSON, if that depends on the row alone
    std::shared_ptr<const std::string> live_text; ///< its JSON, if that depends on the row and the core
    std::uint64_t activity = 0;                   ///< of the core, before it was asked for `live_text`
  };

  /// `changes`: null = nothing is kept; `activity`: null = no text that depends on the core is kept.
  explicit known_rows(std::shared_ptr<const row_changes> changes,
                      std::shared_ptr<const core_activity> activity = nullptr)
      : changes_(std::move(changes)), activity_(std::move(activity)) {}

  /// Call it before the row is read and the core is asked, and pass the count to `keep_live_text`.
  std::uint64_t activity() const { return activity_ ? activity_->count() : 0; }

  /// Call it before the row is read, and pass the count to `keep`.
  std::uint64_t changes_of(const operation_id& id) const { return changes_ ? changes_->of(id) : 0; }

  /// The row as it is on disk; null if it is not known. Valid until the next call of `keep`.
  const known* find(const operation_id& id) const {
    const auto* kept = changes_ ? rows_.find(id) : nullptr;
    return kept && kept->changes == changes_->of(id) ? kept : nullptr;
  }

  /// The JSON of this operation as it is now; null if that is not known. Valid as long as the result of `find`.
  const std::string* text_of(const known& here) const {
    if (here.text) return here.text.get();
    return activity_ && here.live_text && here.activity == activity_->count() ? here.live_text.get() : nullptr;
  }

  /// Keeps a row unless it is large.
  void keep(const records::operation_record& row, std::uint64_t changes) {
    if (!changes_ || bytes_of(row) > most_row_bytes) return;
    rows_.put(row.id, {.row = row, .changes = changes, .text = nullptr, .live_text = nullptr, .activity = 0});
  }

  /// Keeps the JSON of this row, if the row is known.
  void keep_text(const records::operation_record& row, const std::string& text) {
    const auto* kept = find(row.id);
    if (!kept || kept->row != row || text.size() > most_row_bytes) return;
    auto with_text = *kept;
    with_text.text = std::make_shared<const std::string>(text);
    rows_.put(row.id, std::move(with_text));
  }

  /// Keeps the JSON of a live operation until something happens in the core. `activity` was asked before.
  void keep_live_text(const operation_id& id, const std::string& text, std::uint64_t activity) {
    if (!activity_ || activity_->count() != activity || text.size() > most_row_bytes) return;
    const auto* kept = find(id);
    if (!kept) return;
    auto with_text = *kept;
    with_text.live_text = std::make_shared<const std::string>(text);
    with_text.activity = activity;
    rows_.put(id, std::move(with_text));
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
  std::shared_ptr<const core_activity> activity_;
  recent<operation_id, known> rows_{most_rows};
};

} // namespace quell::controller::http
