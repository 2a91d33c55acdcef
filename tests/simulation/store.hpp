// The journal of the simulated controller: the production schema, writer, committer and recovery on a simulated disk,
// driven by virtual time instead of a thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "storage/committer.hpp"
#include "storage/journal.hpp"
#include "storage/queries.hpp"
#include "tests/simulation/disk.hpp"
#include "tests/simulation/events.hpp"

namespace quell::simulation {

struct world;

class store {
 public:
  explicit store(world& w);
  ~store();

  /// A start of quelld: opens, raises the epoch, recovers. `notice` comes a moment after each commit.
  result<records::recovered_state> open(std::function<void(const records::commit_notice&)> notice);
  std::uint64_t submit(std::vector<records::entry> batch);
  void refusal_known(std::uint64_t ticket) { known_refusal_ = std::max(known_refusal_, ticket); }
  /// The process dies at this instant. The batch in the middle of its write is written whole, in part, or not at all.
  void crash();
  /// An orderly end: every submitted batch is written.
  void close();
  bool is_open() const { return committer_ != nullptr; }
  bool low() const { return low_; }
  /// Reads committed rows between commits. Must be destroyed before the store closes.
  std::unique_ptr<controller::store_reader> reader() { return storage::queries_on(*database_, options_.directory); }
  /// nullptr while it is closed.
  SQLite::Database* database() { return committer_ ? database_ : nullptr; }

  void slow(bool is) { slow_ = is; }
  void full(bool is);
  void broken(bool is) { disk_.broken(is); }

 private:
  void begin();
  void finish(std::uint64_t life);
  void write(std::vector<storage::pending_batch>& group);

  world& world_;
  disk disk_;
  random_stream random_;
  storage::journal::options options_;
  std::unique_ptr<storage::ballast> ballast_;
  SQLite::Database* database_ = nullptr; ///< the committer's
  std::unique_ptr<storage::committer> committer_;
  std::function<void(const records::commit_notice&)> notice_;
  std::deque<storage::pending_batch> waiting_;
  std::vector<storage::pending_batch> group_; ///< being written now
  std::uint64_t known_refusal_ = 0;
  std::uint64_t last_ticket_ = 0, life_ = 0, looks_ = 0;
  instant notified_at_ = 0;
  bool busy_ = false, slow_ = false, low_ = false;
};

} // namespace quell::simulation
