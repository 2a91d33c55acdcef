// Reading committed rows. Each object is used by one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/records/audit_record.hpp"
#include "controller/records/costs.hpp"
#include "controller/records/filters.hpp"
#include "controller/records/history.hpp"
#include "protocol/fault.hpp"

namespace quell::controller {

using namespace records;

class store_reader {
 public:
  virtual ~store_reader() = default;

  virtual result<std::optional<operation_record>> operation(const operation_id& id) = 0;
  virtual result<std::vector<operation_record>> operations(const operation_filter& f) = 0;
  /// True if `id` is `ancestor` or below it (along parents, detached edges included).
  virtual result<bool> is_below(const operation_id& id, const operation_id& ancestor) = 0;
  /// Messages with their calls, in the chosen order of seq, including discarded ones. Texts are whole, and an input or
  /// a result can be large, so keep pages short.
  virtual result<std::vector<kept_message>> messages(const message_filter& f) = 0;
  /// The newest message in this scope that has this client id; none for "".
  virtual result<std::optional<message_record>> message_of_client(const scope_path& scope,
                                                                  const std::string& client_id) = 0;
  /// The newest edit of that message: a client names its edits `client_id/…`.
  virtual result<std::optional<message_record>> newest_edit_of_client(const scope_path& scope,
                                                                      const std::string& client_id) = 0;
  /// Messages that ordered a stop and are not acknowledged yet, oldest first, at most 1,000.
  virtual result<std::vector<message_record>> unacknowledged() = 0;
  virtual result<std::optional<cancel_record>> cancel(const cancel_id& id) = 0;
  virtual result<std::vector<cancel_record>> cancels(const cancel_filter& f) = 0;
  virtual result<std::vector<event_record>> events(const event_filter& f) = 0;
  /// The oldest event id still stored; nullopt if none.
  virtual result<std::optional<std::uint64_t>> oldest_event() = 0;
  virtual result<std::uint64_t> newest_event() = 0;
  /// Entries of the audit with a number above `after`, oldest first, at most `limit`.
  virtual result<std::vector<audit_record>> audit(std::uint64_t after, std::uint32_t limit) = 0;
  /// The use of model calls, summed up by group.
  virtual result<cost_page> costs(const cost_filter& f) = 0;
};

/// The budget after which a read is given up.
struct read_budget {
  using clock = std::chrono::steady_clock;
  /// `processor`: the points count the time that the reading thread has had of a processor, which a busy machine does
  /// not use up.
  enum class measure : std::uint8_t { wall, processor };
  clock::time_point until = clock::time_point::max(); ///< an unfinished list then ends where it is
  clock::time_point end = clock::time_point::max();   ///< an unfinished read then fails with `too_slow`
  std::shared_ptr<const std::atomic<bool>> abandoned; ///< true: the result is no longer wanted, so the read fails
  measure of = measure::wall;
  /// The read sleeps for a moment in every millisecond. On a busy machine it otherwise keeps the kernel's own threads,
  /// and with them every commit, from the processor until the next tick of the kernel's clock, 4 ms later.
  bool rests = false;
};

/// For lists whose cost a caller chooses.
class limited_store_reader : public store_reader {
 public:
  /// Applies to all reads until the next call. Faults of a read that exceeds it: `too_slow`, `abandoned`.
  virtual void limit(read_budget budget) = 0;
  /// Set if the last list ran out of time before it had all its rows: continue behind this seq (or event id); no row
  /// before it was missed.
  virtual std::optional<std::uint64_t> cut_at() const = 0;
};

/// Opens one more reader of the store, for a thread of its own.
using open_store = std::function<result<std::unique_ptr<store_reader>>()>;
using open_limited_store = std::function<result<std::unique_ptr<limited_store_reader>>()>;

} // namespace quell::controller
