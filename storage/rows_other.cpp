// Rows of the tables `worker`, `token` and `event`, and helpers that all rows share.
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/pack.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

// 2: author of the drain; 3: the state directory that came first; 4: the next keys
constexpr std::uint64_t worker_body_version = 4;

std::string pack_body(const worker_record& record) {
  packer to;
  to.number(worker_body_version);
  to.map(record.enrolled_labels);
  to.time(record.enrolled_at);
  to.map(record.labels);
  to.number(record.slots);
  to.maybe(record.level, [&](auto level) { to.number(static_cast<std::uint64_t>(level)); });
  to.texts(record.containment_limits);
  to.text(record.version);
  to.text(record.address);
  to.text(record.boot_id);
  to.text(record.state_id);
  to.maybe(record.incarnation, [&](const auto& id) {
    to.text({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  });
  to.maybe(record.joined_at, [&](auto at) { to.time(at); });
  to.maybe(record.last_heard_at, [&](auto at) { to.time(at); });
  to.flag(record.lost);
  to.integer(record.lease.count());
  to.maybe(record.drain, [&](const auto& drain) {
    to.time(drain.since);
    to.text(drain.reason);
    to.maybe(drain.deadline_at, [&](auto at) { to.time(at); });
    to.maybe(drain.by, [&](const auto& by) {
      to.text(by.id);
      to.text(by.name);
    });
  });
  to.text(record.home_state);
  to.text(record.next_key);
  to.maybe(record.key_changed_at, [&](auto at) { to.time(at); });
  to.text(record.controller_key);
  return to.take();
}

void read_body(std::string_view bytes, worker_record& record) {
  unpacker from(bytes);
  const auto version = from.number();
  if (version < 1 || version > worker_body_version) throw corrupt_row("a worker's packed part has an unknown version");
  record.enrolled_labels = from.map();
  record.enrolled_at = from.time();
  record.labels = from.map();
  record.slots = static_cast<std::uint32_t>(from.number());
  if (from.flag()) {
    record.level = from_code<containment>(static_cast<std::int64_t>(from.number()));
    if (!record.level) throw corrupt_row("a worker has an unknown containment");
  }
  record.containment_limits = from.texts();
  record.version = from.text();
  record.address = from.text();
  record.boot_id = from.text();
  record.state_id = from.text();
  if (from.flag()) {
    const auto raw = from.view();
    incarnation_id id;
    if (raw.size() != id.bytes.size()) throw corrupt_row("a worker's incarnation has the wrong size");
    std::memcpy(id.bytes.data(), raw.data(), raw.size());
    record.incarnation = id;
  }
  record.joined_at = from.maybe([&] { return from.time(); });
  record.last_heard_at = from.maybe([&] { return from.time(); });
  record.lost = from.flag();
  record.lease = milliseconds{from.integer()};
  if (from.flag()) {
    drain_state drain;
    drain.since = from.time();
    drain.reason = from.text();
    drain.deadline_at = from.maybe([&] { return from.time(); });
    if (version >= 2 && from.flag()) {
      person by;
      by.id = from.text();
      by.name = from.text();
      drain.by = std::move(by);
    }
    record.drain = std::move(drain);
  }
  record.home_state = version >= 3 ? from.text() : record.state_id;
  if (version >= 4) {
    record.next_key = from.text();
    record.key_changed_at = from.maybe([&] { return from.time(); });
    record.controller_key = from.text();
  }
  if (!from.ok()) throw corrupt_row("a worker's packed part is cut short");
}

} // namespace

void run(SQLite::Statement& statement) {
  struct rewind {
    SQLite::Statement& statement;
    ~rewind() { statement.tryReset(); }
  } always{statement};
  statement.executeStep();
}

scope_path scope_of(std::string_view stored) {
  if (!stored.empty() && stored.back() == '/') stored.remove_suffix(1);
  auto scope = scope_path::parse(stored);
  if (!scope) throw corrupt_row("a row has a bad scope: " + scope.error().detail);
  return std::move(*scope);
}

std::optional<scope_path> maybe_scope(columns& row) {
  if (row.skip_null()) return std::nullopt;
  return scope_of(row.view());
}

std::optional<std::string> stored(const std::optional<scope_path>& scope) {
  if (!scope) return std::nullopt;
  return stored_scope(scope->text());
}

const std::string put_worker_sql = "INSERT OR REPLACE INTO worker (name, public_key, body) VALUES (?, ?, ?)";
const std::string worker_columns = "name, public_key, body";

void write_worker(SQLite::Statement& put, const worker_record& record) {
  const auto body = pack_body(record);
  binder(put).text(record.name).text(record.public_key).bytes(body.data(), body.size());
  run(put);
}

worker_record read_worker(SQLite::Statement& row) {
  columns from(row);
  worker_record record;
  record.name = from.text();
  record.public_key = from.text();
  read_body(from.view(), record);
  return record;
}

const std::string put_token_sql = "INSERT OR REPLACE INTO token (id, name, role, scope, hash, owner, owner_name, "
                                  "created_at, expires_at, last_used_at) "
                                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const std::string token_columns =
    "id, name, role, scope, hash, owner, owner_name, created_at, expires_at, last_used_at";

void write_token(SQLite::Statement& put, const token_record& record) {
  const auto scope = stored(record.scope);
  binder to(put);
  to.id(record.id).text(record.name).code(record.role).text(scope).text(record.hash);
  to.text(record.owner.id).text(record.owner.name);
  to.time(record.created_at).time(record.expires_at).time(record.last_used_at);
  run(put);
}

token_record read_token(SQLite::Statement& row) {
  columns from(row);
  token_record record;
  record.id = from.id<token_id>();
  record.name = from.text();
  record.role = from.code<role>();
  record.scope = maybe_scope(from);
  record.hash = from.text();
  record.owner.id = from.text();
  record.owner.name = from.text();
  record.created_at = from.time();
  record.expires_at = from.maybe_time();
  record.last_used_at = from.maybe_time();
  return record;
}

const std::string put_event_sql = "INSERT OR REPLACE INTO event (id, type, at, scope, operation, root, cancel, worker, "
                                  "data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
const std::string event_columns = "id, type, at, scope, operation, root, cancel, worker, data";

void write_event(SQLite::Statement& put, const event_record& record) {
  const auto scope = stored(record.scope);
  const std::string type(text_of(record));
  binder to(put);
  to.count(record.id).text(type).time(record.at).text(scope).id(record.operation).id(record.root).id(record.cancel);
  to.text(record.worker).text(record.data);
  run(put);
}

event_record read_event(SQLite::Statement& row) {
  columns from(row);
  event_record record;
  record.id = from.count();
  auto type = from.text();
  if (const auto listed = event_type_of(type))
    record.type = *listed;
  else
    record.unlisted_type = std::move(type); // of another version: it is shown and kept as it is
  record.at = from.time();
  record.scope = maybe_scope(from);
  record.operation = from.maybe_id<operation_id>();
  record.root = from.maybe_id<operation_id>();
  record.cancel = from.maybe_id<cancel_id>();
  record.worker = from.maybe_text();
  record.data = from.text();
  return record;
}

} // namespace quell::storage
