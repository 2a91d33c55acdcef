// Writes entries into rows: the statements of the only writing connection, prepared once.
#include "storage/writer.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <algorithm>

#include "storage/binding.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

constexpr std::uint64_t most_events_at_once = 1'000;
/// The operation with this id has ended, and no row names it as its parent.
constexpr const char* is_droppable =
    "EXISTS (SELECT 1 FROM operation o WHERE o.id = ? AND o.ended_seq <> 0 AND NOT EXISTS "
    "(SELECT 1 FROM operation c INDEXED BY operation_parent WHERE c.parent = o.id))";

/// The WAL hook receives the number of frames after each commit; it only remembers that number.
int remember_frames(void* where, sqlite3*, const char*, int frames) {
  *static_cast<std::uint64_t*>(where) = static_cast<std::uint64_t>(frames);
  return SQLITE_OK;
}

} // namespace

struct writer::statements {
  explicit statements(SQLite::Database& database)
      : begin(database, "BEGIN IMMEDIATE"), commit(database, "COMMIT"),
        insert_operation(database, insert_operation_sql), insert_bulk(database, insert_bulk_sql),
        update_live(database, update_live_sql), update_ended(database, update_ended_sql),
        put_cancel(database, put_cancel_sql), put_cutoff(database, put_cutoff_sql),
        drop_cutoff(database, "DELETE FROM cutoff WHERE scope=?"), put_tombstone(database, put_tombstone_sql),
        drop_tombstone(database, "DELETE FROM tombstone WHERE id=?"), put_worker(database, put_worker_sql),
        drop_worker(database, "DELETE FROM worker WHERE name=?"), put_token(database, put_token_sql),
        drop_token(database, "DELETE FROM token WHERE id=?"), put_event(database, put_event_sql),
        reserve(database, "UPDATE meta SET value = max(value, ?) WHERE key = 'seq_limit'"),
        event_range(database, "SELECT (SELECT min(id) FROM event), (SELECT max(id) FROM event)"),
        prune(database, "DELETE FROM event WHERE id < ?"), newest_audit(database, newest_audit_sql),
        put_audit(database, put_audit_sql), prune_audit(database, prune_audit_sql),
        drop_bulk(database, "DELETE FROM operation_bulk WHERE seq = (SELECT seq FROM operation WHERE id = ?) AND " +
                                std::string(is_droppable)),
        drop_operation(database, "DELETE FROM operation WHERE id = ? AND " + std::string(is_droppable)),
        drop_cancel(database, "DELETE FROM cancel WHERE id = ? AND status = 2"),
        insert_message(database, insert_message_sql), discard(database, discard_message_sql),
        end_message(database, end_message_sql), insert_call(database, insert_call_sql),
        settle_call(database, settle_call_sql), acknowledge(database, acknowledge_message_sql),
        add_cost(database, add_cost_sql), prune_cost(database, prune_cost_sql),
        put_turn_cost(database, put_turn_cost_sql), drop_turn_cost(database, "DELETE FROM turn_cost WHERE turn = ?"),
        change_call(database, change_call_sql), put_late(database, put_late_sql) {}

  SQLite::Statement begin, commit, insert_operation, insert_bulk, update_live, update_ended, put_cancel, put_cutoff,
      drop_cutoff, put_tombstone, drop_tombstone, put_worker, drop_worker, put_token, drop_token, put_event, reserve,
      event_range, prune, newest_audit, put_audit, prune_audit, drop_bulk, drop_operation, drop_cancel, insert_message,
      discard, end_message, insert_call, settle_call, acknowledge, add_cost, prune_cost, put_turn_cost, drop_turn_cost,
      change_call, put_late;
  std::uint64_t frames = 0;

  void operator()(const put_operation& e) { write_operation(insert_operation, insert_bulk, *e.record); }
  void operator()(const update_operation& e) { write_hot(update_live, update_ended, e.id, e.hot); }
  void operator()(const records::put_cancel& e) { write_cancel(put_cancel, e.record); }
  void operator()(const records::put_cutoff& e) { write_cutoff(put_cutoff, e.record); }
  void operator()(const records::drop_cutoff& e) {
    const auto scope = stored_scope(e.scope.text());
    binder(drop_cutoff).text(scope);
    run(drop_cutoff);
  }
  void operator()(const records::put_tombstone& e) { write_tombstone(put_tombstone, e.record); }
  void operator()(const records::drop_tombstone& e) {
    binder(drop_tombstone).id(e.id);
    run(drop_tombstone);
  }
  void operator()(const records::put_worker& e) { write_worker(put_worker, e.record); }
  void operator()(const records::drop_worker& e) {
    binder(drop_worker).text(e.name);
    run(drop_worker);
  }
  void operator()(const records::put_token& e) { write_token(put_token, e.record); }
  void operator()(const records::drop_token& e) {
    binder(drop_token).id(e.id);
    run(drop_token);
  }
  void operator()(const records::put_event& e) {
    write_event(put_event, e.record);
    if (e.record.type == event_type::audit) append_audit(newest_audit, put_audit, prune_audit, e.record);
  }
  void operator()(const reserve_seq& e) {
    binder(reserve).count(e.limit);
    run(reserve);
  }
  void operator()(const records::drop_operation& e) {
    binder(drop_bulk).id(e.id).id(e.id);
    run(drop_bulk);
    binder(drop_operation).id(e.id).id(e.id);
    run(drop_operation);
  }
  void operator()(const records::drop_cancel& e) {
    binder(drop_cancel).id(e.id);
    run(drop_cancel);
  }
  void operator()(const put_message& e) { write_message(insert_message, e.record); }
  void operator()(const put_call& e) { write_call(insert_call, e.record); }
  void operator()(const put_call_result& e) { write_outcome(settle_call, e.operation, e.outcome); }
  void operator()(const put_call_change& e) { write_call_change(change_call, e.operation, e.changed); }
  void operator()(const records::put_late& e) { write_late(put_late, e.operation, e.late); }
  void operator()(const discard_message& e) {
    binder(discard).id(e.turn);
    run(discard);
  }
  void operator()(const records::put_turn_ending& e) {
    binder(end_message).text(e.ending).id(e.turn);
    run(end_message);
  }
  void operator()(const acknowledge_message& e) {
    binder(acknowledge).id(e.message);
    run(acknowledge);
  }
  void operator()(const records::add_cost& e) { write_cost(add_cost, prune_cost, e.record, e.keep_from); }
  void operator()(const records::put_turn_cost& e) { write_turn_cost(put_turn_cost, e.record); }
  void operator()(const records::drop_turn_cost& e) {
    binder(drop_turn_cost).id(e.turn);
    run(drop_turn_cost);
  }
  void operator()(const drop_events& e) {
    event_range.executeStep();
    columns found(event_range);
    const auto oldest = found.count(), newest = found.count();
    event_range.reset();
    binder(prune).count(std::min({e.up_to + 1, oldest + most_events_at_once, newest}));
    run(prune);
  }
};

writer::writer(SQLite::Database& database) : database_(database), statements_(std::make_unique<statements>(database)) {
  sqlite3_wal_hook(database_.getHandle(), remember_frames, &statements_->frames);
}

writer::~writer() { sqlite3_wal_hook(database_.getHandle(), nullptr, nullptr); }

void writer::begin() { run(statements_->begin); }
void writer::commit() { run(statements_->commit); }

void writer::rollback() noexcept {
  // After some errors SQLite has already rolled back; then no rollback is needed.
  if (sqlite3_get_autocommit(database_.getHandle()) == 0) database_.tryExec("ROLLBACK");
}

void writer::apply(const entry& what) { std::visit(*statements_, what); }

std::uint64_t writer::checkpoint() noexcept {
  int frames = 0, moved = 0;
  const auto code =
      sqlite3_wal_checkpoint_v2(database_.getHandle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
  if (code != SQLITE_OK || frames < 0) return statements_->frames;
  // If everything was moved, the next commit restarts the WAL, unless a reader still uses it.
  statements_->frames = static_cast<std::uint64_t>(std::max(frames - moved, 0));
  return statements_->frames;
}

std::uint64_t writer::wal_frames() const noexcept { return statements_->frames; }

std::uint64_t writer::prune_events(std::uint64_t keep, std::uint64_t slice) {
  // The newest event always stays: the next event's number is derived from it.
  keep = std::max<std::uint64_t>(keep, 1);
  auto& range = statements_->event_range;
  range.executeStep();
  columns found(range);
  const auto oldest = found.count(), newest = found.count();
  range.reset();
  if (newest < oldest + keep) return 0;
  const auto first_kept = newest - keep + 1;
  const auto upto = std::min(first_kept, oldest + slice);
  binder(statements_->prune).count(upto);
  run(statements_->prune);
  return first_kept - upto;
}

} // namespace quell::storage
