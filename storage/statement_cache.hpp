// Prepared statements of one connection, kept by their text: to prepare a short query takes longer than to run it.
#pragma once

#include <SQLiteCpp/Statement.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace SQLite {
class Database;
} // namespace SQLite

namespace quell::storage {

/// Used by one thread, and destroyed before the database.
class statement_cache {
 public:
  /// Keeps at most `most` statements, those that were used last.
  explicit statement_cache(SQLite::Database& database, std::size_t most = 48) : database_(database), most_(most) {}

  /// A statement while it is used. It comes back at the end, without its rows and values.
  class use {
   public:
    use(statement_cache& from, std::unique_ptr<SQLite::Statement> statement)
        : from_(from), statement_(std::move(statement)) {}
    use(const use&) = delete;
    ~use();
    SQLite::Statement& operator*() const { return *statement_; }
    SQLite::Statement* operator->() const { return statement_.get(); }

   private:
    statement_cache& from_;
    std::unique_ptr<SQLite::Statement> statement_;
  };

  /// The statement with this text, prepared if none is kept or all of them are in use. Throws SQLite::Exception.
  use take(const std::string& sql);

  std::size_t kept() const { return kept_.size(); }

 private:
  SQLite::Database& database_;
  const std::size_t most_;
  std::deque<std::unique_ptr<SQLite::Statement>> kept_; ///< the last used one is the last
};

} // namespace quell::storage
