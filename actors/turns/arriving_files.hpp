// Files that messages name already while their bytes are still on their way. The model's next request waits for them;
// a stop ends the wait and the fetch.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/conversation.hpp"
#include "protocol/id.hpp"

namespace quell::controller::turns {

/// Thread-safe. A file is named by the id of its blob. It is settled once: the first word counts.
class arriving_files {
 public:
  static constexpr const char* stopped = "its request was stopped before it was fetched";

  /// Before its message is taken, so that no request misses it.
  void expect(const std::string& file);
  /// The message of these files begins this turn: a stop of the turn settles them. Others are ignored.
  void belong(const attachments& files, const operation_id& turn);
  /// Its fetch begins; a stop calls `stop` once, on any thread. False: it is settled, and must not be fetched.
  bool begin(const std::string& file, std::function<void()> stop);
  /// It is stored (`why` = ""), or why it never will be.
  void settle(const std::string& file, const std::string& why);
  /// Nobody waits for these any longer: their fetches end.
  void give_up(const std::vector<std::string>& files, const std::string& why = stopped);
  /// The same for the files of a turn that is stopped.
  void stop_of(const operation_id& turn);

  /// Those that are on their way and that this conversation names.
  std::vector<std::string> among(conversation& messages) const;
  /// Calls `then` once, when none of these is on its way: at once on this thread, or on another, where it must only
  /// hand over.
  void wait(const std::vector<std::string>& files, std::function<void()> then);
  /// Why a file did not come, of the newest ones.
  std::optional<std::string> why_missing(const std::string& file) const;

 private:
  struct entry {
    std::optional<operation_id> turn;
    std::function<void()> stop;
  };
  struct waiter {
    std::set<std::string> files;
    std::function<void()> then;
  };

  mutable std::mutex guard_;
  std::map<std::string, entry> all_;
  std::vector<waiter> waiters_;
  std::map<std::string, std::string> missing_;
  std::deque<std::string> missing_order_;
};

} // namespace quell::controller::turns
