// Reads conversations: keys first, then each message by its key and its calls by the answer that made them.
#include "storage/history_reader.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/filters.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

struct rewind {
  SQLite::Statement& statement;
  ~rewind() { statement.tryReset(); }
};

} // namespace

struct history_reader::statements {
  explicit statements(SQLite::Database& database)
      : by_seq(database, "SELECT " + message_columns + " FROM message WHERE seq = ?"),
        by_client(database, "SELECT " + message_columns +
                                " FROM message INDEXED BY message_client WHERE scope = ? AND client_id = ?"
                                " ORDER BY seq DESC LIMIT 1"),
        newest_edit(database,
                    "SELECT " + message_columns +
                        " FROM message INDEXED BY message_client WHERE scope = ? AND client_id > ? AND client_id < ?"
                        " ORDER BY seq DESC LIMIT 1"),
        unacknowledged(database, "SELECT " + message_columns +
                                     " FROM message INDEXED BY message_unacknowledged WHERE acknowledged = 0"
                                     " ORDER BY seq LIMIT 1000"),
        calls_of(database,
                 "SELECT " + call_columns + " FROM call INDEXED BY call_answer WHERE answer = ? ORDER BY position") {}

  SQLite::Statement by_seq, by_client, newest_edit, unacknowledged, calls_of;

  std::optional<message_record> message(std::uint64_t seq) {
    const rewind always{by_seq};
    binder(by_seq).count(seq);
    if (!by_seq.executeStep()) return std::nullopt;
    return read_message(by_seq);
  }

  std::vector<call_record> calls(std::uint64_t answer) {
    const rewind always{calls_of};
    binder(calls_of).count(answer);
    std::vector<call_record> found;
    while (calls_of.executeStep()) found.push_back(read_call(calls_of));
    return found;
  }
};

history_reader::history_reader(SQLite::Database& database, statement_cache& searches)
    : searches_(searches), statements_(std::make_unique<statements>(database)) {}

history_reader::~history_reader() = default;

std::vector<kept_message> history_reader::messages(const message_filter& f) {
  // The previous message of the same conversation.
  auto before = f;
  before.ascending = false;
  before.limit = 1;
  before.above_seq.reset();
  std::vector<kept_message> page;
  for (const auto key : find(searches_, search_for(f))) {
    const auto seq = static_cast<std::uint64_t>(key);
    auto message = statements_->message(seq);
    if (!message) continue;
    kept_message kept{std::move(*message), {}};
    if (kept.message.role == message_role::assistant) kept.calls = statements_->calls(seq);
    if (kept.message.role == message_role::tool) {
      before.after_seq = seq;
      for (const auto answer : find(searches_, search_for(before)))
        kept.calls = statements_->calls(static_cast<std::uint64_t>(answer));
    }
    page.push_back(std::move(kept));
  }
  return page;
}

std::optional<message_record> history_reader::message_of_client(const scope_path& scope, const std::string& client_id) {
  if (client_id.empty()) return std::nullopt; // stored as NULL
  auto& row = statements_->by_client;
  const auto stored = stored_scope(scope.text());
  const rewind always{row};
  binder(row).text(stored).text(client_id);
  if (!row.executeStep()) return std::nullopt;
  return read_message(row);
}

std::optional<message_record> history_reader::newest_edit_of_client(const scope_path& scope,
                                                                    const std::string& client_id) {
  if (client_id.empty()) return std::nullopt;
  auto& row = statements_->newest_edit;
  const auto stored = stored_scope(scope.text());
  const auto from = client_id + '/', to = client_id + static_cast<char>('/' + 1);
  const rewind always{row};
  binder(row).text(stored).text(from).text(to);
  if (!row.executeStep()) return std::nullopt;
  return read_message(row);
}

std::vector<message_record> history_reader::unacknowledged() {
  auto& row = statements_->unacknowledged;
  const rewind always{row};
  std::vector<message_record> found;
  while (row.executeStep()) found.push_back(read_message(row));
  return found;
}

} // namespace quell::storage
