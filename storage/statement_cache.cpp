// Few statements are kept, so they are found by looking at each one.
#include "storage/statement_cache.hpp"

#include <SQLiteCpp/Database.h>

#include <algorithm>

namespace quell::storage {

statement_cache::use::~use() {
  // Values are bound by reference, so none may stay. A statement that cannot be reset has failed, and is prepared anew.
  if (statement_->tryReset() != 0) return;
  statement_->clearBindings();
  if (from_.kept_.size() >= from_.most_) from_.kept_.pop_front();
  from_.kept_.push_back(std::move(statement_));
}

statement_cache::use statement_cache::take(const std::string& sql) {
  const auto at =
      std::find_if(kept_.rbegin(), kept_.rend(), [&](const auto& statement) { return statement->getQuery() == sql; });
  if (at == kept_.rend()) return {*this, std::make_unique<SQLite::Statement>(database_, sql)};
  auto found = std::move(*at);
  kept_.erase(std::next(at).base());
  return {*this, std::move(found)};
}

} // namespace quell::storage
