// The real store's readers under the eyes of a test: it holds their reads, lets them fail, and counts how they ended.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "gateway/server.hpp"

namespace quell::controller::test {

/// Shared by all readers. Any thread.
class store_watch {
 public:
  /// Kinds of reads that can be held and are counted.
  enum class kind : std::uint8_t {
    lists,  ///< of operations
    events, ///< pages of stored events
    newest_event
  };
  /// For the change of a `gateway_world`: its readers are watched from now on.
  void watch(gateway_options& options);

  /// From now on whoever begins such a read waits, with its whole thread, until `release`.
  void hold(kind what);
  void hold_lists() { hold(kind::lists); }
  /// The same for reads of this operation by its id.
  void hold_row(const operation_id& id);
  /// Waits until so many of such reads, lists, or rows, are held.
  void wait_until_held(kind what, int count = 1);
  void wait_until_lists_held(int count) { wait_until_held(kind::lists, count); }
  void wait_until_rows_held(int count);
  void release();
  /// From now on every read of an operation or a cancel fails.
  void fail();
  /// Whether a list is not read before its client is known to have left.
  void expect_that_clients_leave(bool do_they);
  /// Waits until so many lists have ended.
  void wait_until_ended(int count);

  int begun(kind what);                      ///< so many such reads
  std::optional<std::uint64_t> last_bound(); ///< `up_to` of the last page of events
  /// Waits until so many pages of events have ended because nobody waits for them.
  void wait_until_pages_abandoned(int count);

  int lists_read();      ///< that found rows, or that there are none
  int lists_abandoned(); ///< that ended because nobody waits for them

  // ---- for the readers -------------------------------------------------------------------------------------------
  void before(kind what);
  void before_list(const read_budget& budget);
  void before_events(const records::event_filter& f);
  void page_abandoned();
  void after_list(bool is_read, bool is_abandoned);
  void before_row(const operation_id& id);
  bool fails();

 private:
  template <class Condition>
  void until(Condition is_true, const char* what);
  std::mutex mutex_;
  std::condition_variable changed_;
  struct gate {
    bool is_shut = false;
    int waiting = 0, begun = 0;
  };
  void pass(std::unique_lock<std::mutex>& lock, gate& at);
  gate& gate_of(kind what) { return gates_[static_cast<std::size_t>(what)]; }
  std::array<gate, 3> gates_;
  std::optional<operation_id> held_row_;
  std::optional<std::uint64_t> last_bound_;
  bool fails_ = false, clients_leave_ = false;
  int rows_held_ = 0, read_ = 0, abandoned_ = 0, pages_abandoned_ = 0;
};

} // namespace quell::controller::test
