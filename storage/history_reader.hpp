// Reads conversations: a page of messages, each with the calls that belong to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/queries.hpp"
#include "storage/statement_cache.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// Used by one thread. Every function throws what SQLiteCpp throws, and `corrupt_row`.
class history_reader {
 public:
  /// `searches`: of the same database.
  history_reader(SQLite::Database& database, statement_cache& searches);
  ~history_reader();

  /// Call inside a read transaction, so that messages and calls are from the same instant.
  std::vector<kept_message> messages(const message_filter& f);
  std::optional<message_record> message_of_client(const scope_path& scope, const std::string& client_id);
  std::optional<message_record> newest_edit_of_client(const scope_path& scope, const std::string& client_id);
  std::vector<message_record> unacknowledged();

 private:
  struct statements;
  statement_cache& searches_;
  std::unique_ptr<statements> statements_;
};

} // namespace quell::storage
