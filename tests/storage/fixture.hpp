// A store in a temporary directory, records that are easy to make, and waiting for commits.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/journal.hpp"
#include "storage/queries.hpp"

namespace quell::storage::test {

/// A directory under $TMPDIR that is deleted with the object.
class temp_directory {
 public:
  temp_directory();
  /// Under `where` instead, if that exists: /dev/shm if only simulated disks fail and syncing would only cost time.
  explicit temp_directory(const std::string& where);
  ~temp_directory();
  temp_directory(const temp_directory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Collects the notices of a journal; waits with a deadline whose failure names the awaited event.
class notices {
 public:
  explicit notices(journal& of);
  /// Waits until the result of `ticket` is known. nullopt: it is on disk.
  std::optional<fault> outcome(std::uint64_t ticket);
  /// All notices so far, in the order in which they came.
  std::vector<journal::commit_notice> all();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// An open journal with its notices.
class store {
 public:
  explicit store(const std::string& directory) : store(journal::options{.directory = directory}) {}
  explicit store(journal::options o);
  /// Submits and waits.
  std::optional<fault> write(std::vector<entry> batch) { return log_notices.outcome(log->submit(std::move(batch))); }

  std::unique_ptr<journal> log;
  notices log_notices;
  recovered_state recovered;
};

scope_path scope(const std::string& text);
wall_time at(std::int64_t ms);

/// An operation with default values except for these; its root is itself or its parent's root.
operation_record operation(std::uint64_t seq, const std::string& scope, const operation_record* parent = nullptr);
/// An operation whose fields all differ from their defaults.
operation_record full_operation(std::uint64_t seq);
cancel_record cancel_of(cancel_target target, std::uint64_t seq);
event_record event(std::uint64_t id, const std::string& type);
/// A message with default values except for these, and a text that names its seq.
message_record message(std::uint64_t seq, const std::string& scope, message_role role);
/// A call of the answer with this seq, open.
call_record call(const message_record& answer, std::uint32_t position);
/// The change that ends it.
update_operation ended(const operation_record& record, std::uint64_t seq, status now = status::completed);

/// `PRAGMA integrity_check` of the database in a directory, by a separate connection: "ok" or the errors.
std::string integrity(const std::string& directory);
/// The value of one query with one row, as text.
std::string ask(const std::string& directory, const std::string& sql);
std::vector<std::uint64_t> seqs(const std::vector<operation_record>& records);

} // namespace quell::storage::test
