// Runs calls that write one file one after the other, in the order in which they were made, across turns and
// sub-agents.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace quell::controller::turns {

/// Any thread. Must be held by a shared_ptr.
class path_lanes : public std::enable_shared_from_this<path_lanes> {
 public:
  /// A place in the lane of one path; its destruction lets the next one proceed.
  class place {
   public:
    place(std::weak_ptr<path_lanes> lanes, std::string path, std::uint64_t number)
        : lanes_(std::move(lanes)), path_(std::move(path)), number_(number) {}
    ~place();
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    /// Calls `then` once all that joined before have left: now, or on the thread of the last of them.
    void when_first(std::function<void()> then);

   private:
    const std::weak_ptr<path_lanes> lanes_;
    const std::string path_;
    const std::uint64_t number_;
  };

  /// Takes the last place in the lane of `path`.
  std::shared_ptr<place> join(const std::string& path);

 private:
  struct waiting {
    std::uint64_t number = 0;
    std::function<void()> then;
  };
  void wait(const std::string& path, std::uint64_t number, std::function<void()> then);
  void leave(const std::string& path, std::uint64_t number);

  std::mutex guard_;
  std::unordered_map<std::string, std::deque<waiting>> lanes_; ///< the front runs
  std::uint64_t last_ = 0;
};

} // namespace quell::controller::turns
