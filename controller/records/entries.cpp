// Decides which rows depend on terminal rows.
#include "controller/records/entries.hpp"

namespace quell::records {

bool depends_on_terminal_rows(const entry& what) {
  if (const auto* row = std::get_if<update_operation>(&what)) return row->hot.ended_seq != 0;
  if (const auto* row = std::get_if<put_cancel>(&what))
    return row->record.status == cancel_status::settled && row->record.report.operations > 0;
  return std::holds_alternative<drop_cutoff>(what) || std::holds_alternative<drop_worker>(what);
}

bool says_what_lives(const entry& what) {
  const auto* row = std::get_if<put_cancel>(&what);
  return row && row->record.status == cancel_status::fenced && !row->record.report.fenced_ms; // its first row
}

} // namespace quell::records
