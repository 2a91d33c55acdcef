// Jobs of many callers for a few threads: the caller that has used the least time comes next, and no caller gets all
// threads. Pure; the caller passes the time spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace quell::controller::http {

template <class Job>
class fair_queue {
 public:
  /// At most `most_running` jobs of one caller run at a time.
  explicit fair_queue(std::size_t most_running) : most_running_(most_running) {}

  /// False, and the job is not kept, if `most_waiting` jobs of this caller wait. Jobs for which `is_dead` is true are
  /// not counted, and are handed to `drop`.
  template <class IsDead, class Drop>
  bool put(const std::string& who, Job job, std::size_t most_waiting, const IsDead& is_dead, const Drop& drop) {
    auto& queue = queues_.try_emplace(who, fresh_queue{served_}).first->second;
    if (queue.waiting.size() >= most_waiting)
      for (auto at = queue.waiting.begin(); at != queue.waiting.end();) {
        if (!is_dead(*at)) {
          ++at;
          continue;
        }
        drop(std::move(*at));
        at = queue.waiting.erase(at);
      }
    if (queue.waiting.size() >= most_waiting) return false;
    queue.waiting.push_back(std::move(job));
    return true;
  }

  /// The next job that can run now, with its caller; it counts as running until `done`.
  std::optional<std::pair<std::string, Job>> take() {
    auto next = queues_.end();
    for (auto at = queues_.begin(); at != queues_.end(); ++at)
      if (!at->second.waiting.empty() && at->second.running < most_running_ &&
          (next == queues_.end() || at->second.spent < next->second.spent))
        next = at;
    if (next == queues_.end()) return std::nullopt;
    auto& queue = next->second;
    served_ = queue.spent;
    ++queue.running;
    std::pair<std::string, Job> taken(next->first, std::move(queue.waiting.front()));
    queue.waiting.pop_front();
    return taken;
  }

  /// `spent`: how long the job ran, in any fixed unit.
  void done(const std::string& who, std::uint64_t spent) {
    const auto found = queues_.find(who);
    if (found == queues_.end()) return;
    auto& queue = found->second;
    --queue.running;
    queue.spent += spent;
    if (queue.waiting.empty() && queue.running == 0) queues_.erase(found);
  }

 private:
  struct queue_of_jobs {
    std::deque<Job> waiting;
    std::size_t running = 0;
    std::uint64_t spent = 0;
  };
  /// A new caller starts at the level of the callers being served now: it gains nothing from having been away.
  struct fresh_queue {
    std::uint64_t spent;
    operator queue_of_jobs() const { return {{}, 0, spent}; }
  };

  std::size_t most_running_;
  std::map<std::string, queue_of_jobs> queues_;
  std::uint64_t served_ = 0;
};

} // namespace quell::controller::http
