// Rows of the table `operation`: fields that are queried or change have columns, the rest is packed.
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/pack.hpp"
#include "storage/pack_fields.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

/// Larger packed parts go to operation_bulk, so that a change of status does not write them again.
constexpr std::size_t largest_cold_in_row = 1024;
constexpr std::uint64_t cold_version = 2; // 2: adds the data specific to the kind

const std::string hot_columns =
    "status, worker, started_at, deadline_at, ended_at, stop_cause, stop_seq, stop_cancel, signalled_at, kill_at, "
    "receipt, "
    "proof, exit_code, exit_signal, error_code, error_message, own_end, containment, pid, stdout_bytes, stderr_bytes, "
    "dropped_bytes, result, late, stop_reason, stop_by, stop_by_name";

const std::string hot_assignments = "status=?, worker=?, started_at=?, deadline_at=?, ended_at=?, stop_cause=?, "
                                    "stop_seq=?, stop_cancel=?, signalled_at=?, "
                                    "kill_at=?, receipt=?, proof=?, exit_code=?, exit_signal=?, error_code=?, "
                                    "error_message=?, own_end=?, containment=?, "
                                    "pid=?, stdout_bytes=?, stderr_bytes=?, dropped_bytes=?, result=?, late=?, "
                                    "stop_reason=?, stop_by=?, stop_by_name=?";

void bind_hot(binder& to, const operation_hot& hot) {
  to.code(hot.now).text(hot.worker).time(hot.started_at).time(hot.deadline_at).time(hot.ended_at);
  if (const auto& stop = hot.stop)
    to.code(stop->cause)
        .count(stop->seq)
        .id(stop->cancel)
        .time(stop->signalled_at)
        .time(stop->kill_at)
        .code(stop->how)
        .code(stop->how ? stop->evidence : hot.self_evidence);
  else
    to.nothing().nothing().nothing().nothing().nothing().nothing().code(hot.self_evidence);
  if (hot.exit && hot.exit->code)
    to.integer(*hot.exit->code);
  else
    to.nothing();
  if (hot.exit)
    to.text(hot.exit->signal);
  else
    to.nothing();
  if (hot.error)
    to.text(hot.error->code).text(hot.error->message);
  else
    to.nothing().nothing();
  to.code(hot.self_status).code(hot.level);
  if (hot.pid != 0)
    to.integer(hot.pid);
  else
    to.nothing();
  to.count_or_nothing(hot.output.stdout_bytes).count_or_nothing(hot.output.stderr_bytes);
  to.count_or_nothing(hot.output.dropped_bytes).text_or_nothing(hot.result).text_or_nothing(hot.late);
  if (hot.stop && hot.stop->by)
    to.text_or_nothing(hot.stop->reason).text(hot.stop->by->id).text(hot.stop->by->name);
  else
    to.nothing().nothing().nothing();
}

void read_hot(columns& from, operation_hot& hot) {
  hot.now = from.code<status>();
  hot.worker = from.maybe_text();
  hot.started_at = from.maybe_time();
  hot.deadline_at = from.maybe_time();
  hot.ended_at = from.maybe_time();
  const auto cause = from.maybe_code<stop_cause>();
  stop_state stop;
  stop.seq = from.count();
  stop.cancel = from.maybe_id<cancel_id>();
  stop.signalled_at = from.maybe_time();
  stop.kill_at = from.maybe_time();
  stop.how = from.maybe_code<receipt>();
  stop.evidence = from.maybe_code<proof>();
  if (cause) {
    stop.cause = *cause;
    hot.stop = stop;
  }
  exit_state exit;
  if (const auto code = from.maybe_integer()) exit.code = static_cast<std::int32_t>(*code);
  exit.signal = from.maybe_text();
  if (exit.code || exit.signal) hot.exit = std::move(exit);
  auto error_code = from.maybe_text();
  auto error_message = from.text();
  if (error_code) hot.error = operation_error{std::move(*error_code), std::move(error_message)};
  hot.self_status = from.maybe_code<status>();
  if (hot.self_status && !stop.how) {
    hot.self_evidence = stop.evidence;
    if (hot.stop) hot.stop->evidence.reset();
  }
  hot.level = from.maybe_code<containment>();
  hot.pid = static_cast<std::int32_t>(from.integer());
  hot.output.stdout_bytes = from.count();
  hot.output.stderr_bytes = from.count();
  hot.output.dropped_bytes = from.count();
  hot.result = from.text();
  hot.late = from.text();
  auto stop_reason = from.text();
  auto stop_by = from.maybe_text();
  auto stop_by_name = from.text();
  if (hot.stop && stop_by) {
    hot.stop->reason = std::move(stop_reason);
    hot.stop->by = person{std::move(*stop_by), std::move(stop_by_name)};
  }
}

std::string pack_cold(const operation_record& record) {
  packer to;
  to.number(cold_version);
  to.text(record.title);
  to.text(record.owner.name);
  to.maybe(record.supersede, [&](const auto& key) { to.text(key); });
  to.integer(record.timeout.count());
  to.integer(record.grace.count());
  to.number(static_cast<std::uint64_t>(record.on_parent_end));
  to.text(record.fingerprint);
  static const task_spec none;
  to.flag(record.task != none);
  if (record.task != none) {
    field_packer fields{to};
    inspect(fields,
            const_cast<task_spec&>(record.task)); // `inspect` serves reading and writing; here it only reads
  }
  to.text(record.kind_data);
  return to.take();
}

void read_cold(std::string_view bytes, operation_record& record) {
  unpacker from(bytes);
  const auto version = from.number();
  if (version < 1 || version > cold_version) throw corrupt_row("an operation's packed part has an unknown version");
  record.title = from.text();
  record.owner.name = from.text();
  record.supersede = from.maybe([&] { return from.text(); });
  record.timeout = milliseconds{from.integer()};
  record.grace = milliseconds{from.integer()};
  const auto on_end = from_code<on_parent_end>(static_cast<std::int64_t>(from.number()));
  if (!on_end) throw corrupt_row("an operation's packed part has a code out of range");
  record.on_parent_end = *on_end;
  record.fingerprint = from.text();
  if (from.flag()) {
    field_unpacker fields{from};
    inspect(fields, record.task);
  }
  if (version >= 2) record.kind_data = from.text();
  if (!from.ok()) throw corrupt_row("an operation's packed part is cut short");
}

} // namespace

const std::string insert_operation_sql =
    "INSERT INTO operation (seq, id, as_of, kind, name, scope, parent, root, detached, owner, via_token, "
    "created_at, labels, cold, ended_seq, " +
    hot_columns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
const std::string insert_bulk_sql = "INSERT INTO operation_bulk (seq, cold) VALUES (?, ?)";
// Two statements, because naming ended_seq makes SQLite rewrite the two indexes that contain it. A terminal row keeps
// its end.
const std::string update_live_sql = "UPDATE operation SET " + hot_assignments + " WHERE id=? AND ended_seq=0";
const std::string update_ended_sql =
    "UPDATE operation SET " + hot_assignments + ", ended_seq=? WHERE id=? AND ended_seq IN (0, ?)";
const std::string put_late_sql = "UPDATE operation SET late=? WHERE id=? AND ended_seq<>0 AND late IS NULL";

const std::string operation_columns =
    "seq, id, as_of, kind, name, scope, parent, root, detached, owner, via_token, created_at, ended_seq, " +
    hot_columns + ", labels, CASE WHEN kind NOT IN (" + // which are no calls, and many
    std::to_string(code_of(kind::task)) + ", " + std::to_string(code_of(kind::external)) +
    ") THEN (SELECT c.changed FROM call_change c WHERE c.operation = operation.id) END, "
    "coalesce(cold, (SELECT b.cold FROM operation_bulk b WHERE b.seq = operation.seq))";

void write_operation(SQLite::Statement& insert, SQLite::Statement& insert_bulk, const operation_record& record) {
  const auto scope = stored_scope(record.scope.text());
  const auto cold = pack_cold(record);
  std::string labels;
  if (!record.labels.empty()) {
    packer to;
    to.map(record.labels);
    labels = to.take();
  }
  binder to(insert);
  to.count(record.seq)
      .id(record.id)
      .count(record.as_of)
      .code(record.kind)
      .text(record.name)
      .text(scope)
      .id(record.parent);
  if (record.root == record.id)
    to.nothing();
  else
    to.id(record.root);
  to.integer(record.detached).text(record.owner.id).text_or_nothing(record.via_token_id).time(record.created_at);
  if (labels.empty())
    to.nothing();
  else
    to.bytes(labels.data(), labels.size());
  const bool in_row = cold.size() <= largest_cold_in_row;
  if (in_row)
    to.bytes(cold.data(), cold.size());
  else
    to.nothing();
  to.count(record.hot.ended_seq);
  bind_hot(to, record.hot);
  run(insert);
  if (in_row) return;
  binder(insert_bulk).count(record.seq).bytes(cold.data(), cold.size());
  run(insert_bulk);
}

void write_hot(SQLite::Statement& update_live, SQLite::Statement& update_ended, const operation_id& id,
               const operation_hot& hot) {
  auto& statement = hot.ended_seq == 0 ? update_live : update_ended;
  binder to(statement);
  bind_hot(to, hot);
  if (hot.ended_seq != 0) to.count(hot.ended_seq);
  to.id(id);
  if (hot.ended_seq != 0) to.count(hot.ended_seq);
  run(statement);
  if (statement.getChanges() != 1)
    throw mismatch("operation " + id.text() + " is not in the store, or is terminal and may not change its end");
}

void write_late(SQLite::Statement& put, const operation_id& id, const std::string& late) {
  binder(put).text(late).id(id);
  run(put);
}

operation_record read_operation(SQLite::Statement& row) {
  operation_record record;
  read_operation(columns(row), record);
  return record;
}

void read_operation(columns from, operation_record& record) {
  record.seq = from.count();
  record.id = from.id<operation_id>();
  record.as_of = from.count();
  record.kind = from.code<kind>();
  record.name = from.text();
  record.scope = scope_of(from.view());
  record.parent = from.maybe_id<operation_id>();
  record.root = from.maybe_id<operation_id>().value_or(record.id);
  record.detached = from.integer() != 0;
  record.owner.id = from.text();
  record.via_token_id = from.text();
  record.created_at = from.time();
  const auto ended_seq = from.count();
  read_hot(from, record.hot);
  record.hot.ended_seq = ended_seq;
  if (!from.skip_null()) {
    unpacker labels(from.view());
    record.labels = labels.map();
    if (!labels.ok()) throw corrupt_row("an operation's labels are cut short");
  }
  record.call_change = from.text();
  read_cold(from.view(), record);
}

} // namespace quell::storage
