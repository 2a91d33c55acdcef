// The next work of the thread of the workspaces. Pure: the time comes in.
//
// Three kinds of work take turns, so that none of them can hold up another one: the sweep that removes what was not
// used for long, workspaces whose tasks have ended since they were measured, and those in which tasks run. Of the
// second kind the workspaces take turns by name, and of the third the one is next whose time came first.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace quell::worker {

class workspace_turns {
 public:
  using time = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;
  struct turn {
    enum class kind { sweep, measure, wait } what = kind::wait;
    std::string name;            ///< to be measured
    std::optional<time> until{}; ///< how long to wait; nullopt: until something changes
  };

  /// A task of it has ended.
  void measure_soon(const std::string& name) { ended_.insert(name); }
  bool is_to_be_measured(const std::string& name) const { return ended_.contains(name); }
  /// Tasks are in it, and it is to be measured then. Replaces an earlier time.
  void look_at(const std::string& name, time at);
  bool is_looked_at(const std::string& name) const { return looks_of_.contains(name); }
  void look_no_more(const std::string& name);
  /// It is gone.
  void forget(const std::string& name);

  /// Something may have to be removed at this time.
  void sweep_at(time at);
  /// The sweep of the last turn took from `began` to `over`, and found what is to be removed at `next`. Sweeps take at
  /// most a twentieth of the time.
  void swept(time began, time over, time next);

  /// The work to do now. A workspace to be measured is not to be measured any more; if tasks are in it, say when to
  /// look again.
  turn next(time now);

  static constexpr int rest_factor = 20;
  static constexpr duration shortest_pause = std::chrono::milliseconds{200}; ///< between two sweeps

 private:
  static constexpr int kinds = 3;
  bool is_due(int kind, time now) const;
  turn take(int kind);

  std::set<std::string> ended_;
  std::string ended_last_; ///< of `ended_`, measured last
  std::set<std::pair<time, std::string>> looks_;
  std::map<std::string, time> looks_of_;
  std::optional<time> sweep_;
  time no_sweep_before_{};
  int last_ = kinds - 1; ///< the kind of the last turn
};

} // namespace quell::worker
