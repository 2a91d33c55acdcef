// The real store's readers under the eyes of a test: it holds their reads, lets them fail, and counts how they ended.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "gateway/server.hpp"

namespace quell::controller::test {

/// Shared by all readers. Any thread.
class store_watch {
 public:
  /// For the change of a `gateway_world`: its readers are watched from now on.
  void watch(gateway_options& options);

  /// From now on whoever reads a list of operations waits, with its whole thread, until `release`.
  void hold_lists();
  /// The same for reads of this operation by its id.
  void hold_row(const operation_id& id);
  /// Waits until so many lists, or rows, are held.
  void wait_until_lists_held(int count);
  void wait_until_rows_held(int count);
  void release();
  /// From now on every read of an operation or a cancel fails.
  void fail();
  /// Whether a list is not read before its client is known to have left.
  void expect_that_clients_leave(bool do_they);
  /// Waits until so many lists have ended.
  void wait_until_ended(int count);

  int lists_read();      ///< that found rows, or that there are none
  int lists_abandoned(); ///< that ended because nobody waits for them

  // ---- for the readers -------------------------------------------------------------------------------------------
  void before_list(const read_budget& budget);
  void after_list(bool is_read, bool is_abandoned);
  void before_row(const operation_id& id);
  bool fails();

 private:
  template <class Condition>
  void until(Condition is_true, const char* what);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<operation_id> held_row_;
  bool holds_lists_ = false, fails_ = false, clients_leave_ = false;
  int lists_held_ = 0, rows_held_ = 0, read_ = 0, abandoned_ = 0;
};

} // namespace quell::controller::test
