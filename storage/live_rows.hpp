// The live operations of a start, read by two threads while another one takes them in.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controller/records/recovered_state.hpp"
#include "storage/record_names.hpp"

namespace quell::storage {

/// Parts of the live operations, in order. The threads read on connections of their own, and only so far ahead that
/// memory stays small.
class live_rows {
 public:
  /// Begins to read behind this seq. Until all are given, nobody may write operations.
  live_rows(std::string directory, std::uint64_t behind);
  ~live_rows();
  live_rows(const live_rows&) = delete;

  /// The next ones; none: all were given. Waits. Throws `records::unreadable`. One thread.
  std::vector<operation_record> next();

 private:
  void read();
  void read_parts();

  const std::string directory_;
  std::mutex mutex_;
  std::condition_variable wake_readers_, wake_taker_;
  std::uint64_t behind_;                                      ///< the last seq that a thread has claimed
  std::size_t claimed_ = 0, given_ = 0;                       ///< parts
  std::map<std::size_t, std::vector<operation_record>> read_; ///< by the number of the part
  bool are_all_claimed_ = false, closing_ = false;
  std::optional<fault> failure_;
  std::vector<std::jthread> threads_; ///< last: they use all members above
};

} // namespace quell::storage
