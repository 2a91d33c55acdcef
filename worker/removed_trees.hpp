// Deletes what was moved into a folder, on a thread of its own: nothing waits while a tree of millions of files goes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace quell::worker {

class removed_trees {
 public:
  /// Empties a folder; false if something is left.
  using emptying = std::function<bool(const std::string&)>;
  /// Begins with what is there.
  removed_trees(std::string folder, emptying empties);
  /// Waits for the deletion that is under way. A later life deletes the rest.
  ~removed_trees();
  removed_trees(const removed_trees&) = delete;
  removed_trees& operator=(const removed_trees&) = delete;

  /// Something was moved into the folder. Any thread.
  void has_more();

 private:
  void run();

  const std::string folder_;
  const emptying empties_;
  std::mutex guard_;
  std::condition_variable wake_;
  bool has_more_ = true, is_over_ = false;
  std::thread thread_;
};

} // namespace quell::worker
