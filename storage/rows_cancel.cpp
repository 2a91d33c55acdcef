// Rows of the tables `cancel`, `cutoff` and `tombstone`.
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/pack.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

constexpr std::uint64_t cancel_body_version = 2; // 2: adds the id of the token

std::string pack_body(const cancel_record& record) {
  packer to;
  to.number(cancel_body_version);
  to.text(record.reason);
  to.text(record.by.name);
  to.text(record.via_channel);
  to.text(record.via_token);
  to.maybe(record.grace, [&](auto grace) { to.integer(grace.count()); });
  to.flag(record.durable);
  to.text(record.fingerprint);
  const auto& report = record.report;
  to.number(report.operations);
  to.texts(report.workers);
  // Lengths first: a later version can know more kinds of receipts and proofs.
  to.number(report.receipts.size());
  for (const auto count : report.receipts) to.number(count);
  to.number(report.proofs.size());
  for (const auto count : report.proofs) to.number(count);
  for (const auto* ms : {&report.fenced_ms, &report.signalled_ms, &report.settled_ms})
    to.maybe(*ms, [&](double value) { to.real(value); });
  to.maybe(record.tighter, [&](auto grace) { to.integer(grace.count()); });
  to.text(record.via_token_id);
  return to.take();
}

template <class Counts>
void read_counts(unpacker& from, Counts& counts) {
  auto left = from.number();
  for (std::size_t i = 0; left > 0 && from.ok(); --left, ++i) {
    const auto count = from.number();
    if (i < counts.size()) counts[i] = count;
  }
}

void read_body(std::string_view bytes, cancel_record& record) {
  unpacker from(bytes);
  const auto version = from.number();
  if (version < 1 || version > cancel_body_version) throw corrupt_row("a cancel's packed part has an unknown version");
  record.reason = from.text();
  record.by.name = from.text();
  record.via_channel = from.text();
  record.via_token = from.text();
  record.grace = from.maybe([&] { return milliseconds{from.integer()}; });
  record.durable = from.flag();
  record.fingerprint = from.text();
  auto& report = record.report;
  report.operations = from.number();
  report.workers = from.texts();
  read_counts(from, report.receipts);
  read_counts(from, report.proofs);
  for (auto* ms : {&report.fenced_ms, &report.signalled_ms, &report.settled_ms})
    *ms = from.maybe([&] { return from.real(); });
  if (version >= 2) {
    record.tighter = from.maybe([&] { return milliseconds{from.integer()}; });
    record.via_token_id = from.text();
  } else if (from.ok() && !from.at_end()) {
    record.tighter = milliseconds{from.integer()};
  }
  if (!from.ok()) throw corrupt_row("a cancel's packed part is cut short");
}

} // namespace

const std::string put_cancel_sql = R"sql(
INSERT INTO cancel (seq, id, target, operation, scope, owner, cutoff, outcome, status, by_id, created_at, up_to_seq, body, place)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        coalesce(?5, (SELECT o.scope FROM operation o WHERE o.id = ?4), (SELECT t.within FROM tombstone t WHERE t.id = ?4)))
ON CONFLICT(id) DO UPDATE SET seq = excluded.seq, target = excluded.target, operation = excluded.operation,
  scope = excluded.scope, owner = excluded.owner, cutoff = excluded.cutoff, outcome = excluded.outcome,
  status = excluded.status, by_id = excluded.by_id, created_at = excluded.created_at, up_to_seq = excluded.up_to_seq,
  body = excluded.body, place = coalesce(excluded.place, cancel.place))sql";

const std::string cancel_columns =
    "seq, id, target, operation, scope, owner, cutoff, outcome, status, by_id, created_at, up_to_seq, body";

void write_cancel(SQLite::Statement& put, const cancel_record& record) {
  const auto body = pack_body(record);
  std::optional<operation_id> operation;
  std::optional<std::string> scope, owner;
  if (const auto* target = std::get_if<target_operation>(&record.target)) operation = target->id;
  if (const auto* target = std::get_if<target_scope>(&record.target)) scope = stored_scope(target->scope.text());
  if (const auto* target = std::get_if<target_owner>(&record.target)) {
    owner = target->owner;
    scope = stored(target->below);
  }
  if (const auto* target = std::get_if<target_everything>(&record.target)) scope = stored(target->below);
  binder to(put);
  to.count(record.seq).id(record.id).count(record.target.index()).id(operation).text(scope).text(owner);
  to.count(record.cutoff).code(record.outcome).code(record.status).text(record.by.id).time(record.created_at);
  if (record.up_to_seq)
    to.count(*record.up_to_seq);
  else
    to.nothing();
  to.bytes(body.data(), body.size());
  run(put);
}

cancel_record read_cancel(SQLite::Statement& row) {
  columns from(row);
  cancel_record record;
  record.seq = from.count();
  record.id = from.id<cancel_id>();
  const auto target = from.integer();
  const auto operation = from.maybe_id<operation_id>();
  auto scope = maybe_scope(from);
  auto owner = from.text();
  if (target == 0 && operation)
    record.target = target_operation{*operation};
  else if (target == 1 && scope)
    record.target = target_scope{*scope};
  else if (target == 2)
    record.target = target_owner{std::move(owner), std::move(scope)};
  else if (target == 3)
    record.target = target_everything{std::move(scope)};
  else
    throw corrupt_row("a cancel has no target");
  record.cutoff = from.count();
  record.outcome = from.code<cancel_outcome>();
  record.status = from.code<cancel_status>();
  record.by.id = from.text();
  record.created_at = from.time();
  if (const auto up_to = from.maybe_integer()) record.up_to_seq = static_cast<std::uint64_t>(*up_to);
  read_body(from.view(), record);
  return record;
}

const std::string put_cutoff_sql = "INSERT OR REPLACE INTO cutoff (scope, cutoff, cancel) VALUES (?, ?, ?)";
const std::string recovered_cutoffs_sql =
    "SELECT cutoff.scope, cutoff.cutoff, cutoff.cancel, cancel.body FROM cutoff LEFT JOIN cancel ON cancel.id = "
    "cutoff.cancel";

void write_cutoff(SQLite::Statement& put, const cutoff_record& record) {
  const auto scope = stored_scope(record.scope.text());
  binder(put).text(scope).count(record.cutoff).id(record.cancel);
  run(put);
}

recovered_cutoff read_cutoff(SQLite::Statement& row) {
  columns from(row);
  recovered_cutoff read;
  read.record.scope = scope_of(from.view());
  read.record.cutoff = from.count();
  read.record.cancel = from.id<cancel_id>();
  if (const auto body = from.view(); !body.empty()) {
    cancel_record by;
    read_body(body, by);
    read.via_token_id = std::move(by.via_token_id);
  }
  return read;
}

const std::string put_tombstone_sql =
    "INSERT OR REPLACE INTO tombstone (id, cancel, expires_at, via_token, within) VALUES (?, ?, ?, ?, ?)";
const std::string tombstone_columns = "id, cancel, expires_at, via_token, within";

void write_tombstone(SQLite::Statement& put, const tombstone_record& record) {
  const auto within = stored(record.within);
  binder(put).id(record.id).id(record.cancel).time(record.expires_at).text(record.via_token).text(within);
  run(put);
}

tombstone_record read_tombstone(SQLite::Statement& row) {
  columns from(row);
  tombstone_record record;
  record.id = from.id<operation_id>();
  record.cancel = from.id<cancel_id>();
  record.expires_at = from.time();
  record.via_token = from.text();
  record.within = maybe_scope(from);
  return record;
}

} // namespace quell::storage
