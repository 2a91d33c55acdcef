// The order in which one batch of updates is taken: each chat in its own order, and no chat waits for another. Pure.
//
// An update that quelld refuses for the moment holds back the rest of its chat, but never a stop: the stop is taken
// next, and the messages before it that it covers are left out. Updates that are held back come again with the next
// batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/scope.hpp"

namespace quell::integrations::chat::telegram {

class update_lines {
 public:
  struct entry {
    std::int64_t id = 0; ///< grows with time
    std::string chat;    ///< updates of one chat are taken one after the other; "" = of none
    std::optional<scope_path> scope{};
    bool is_stop = false;
  };

  /// Forgets the batch before, which must be over. The oldest first. `fetched`: how many updates Telegram brought, with
  /// those that are done already.
  void assign(std::vector<entry> batch, std::size_t fetched) {
    lines_.clear();
    held_.reset();
    fetched_ = fetched;
    for (auto& e : batch) {
      auto& one = lines_[e.chat];
      one.waiting.push_back(std::move(e));
    }
  }

  /// Whether a refused update can be held back. Telegram brings the first 100 updates from the oldest one that is held
  /// back, also those that are done: in a long batch it would hide the stops that come after them.
  bool may_hold() const { return fetched_ < most_fetched; }

  /// The updates to take now, at most one of each chat; `done` or `refused` must follow for each.
  std::vector<std::int64_t> due() {
    std::vector<std::int64_t> all;
    for (auto& [chat, one] : lines_) {
      if (one.is_busy || one.waiting.empty()) continue;
      one.is_busy = true;
      all.push_back(one.waiting.front().id);
    }
    return all;
  }

  /// The update needs no further delivery.
  void done(std::int64_t id) {
    if (auto* one = line_of(id)) {
      one->waiting.pop_front();
      one->is_busy = false;
    }
  }

  struct overtaken {
    std::optional<std::int64_t> stop;   ///< the stop that is taken next in that chat
    std::vector<std::int64_t> left_out; ///< covered by it, not to be taken any more
  };
  /// quelld cannot take the update for the moment.
  overtaken refused(std::int64_t id) {
    overtaken result;
    auto* one = line_of(id);
    if (!one) return result;
    one->is_busy = false;
    const auto stop =
        std::find_if(one->waiting.begin() + 1, one->waiting.end(), [](const entry& e) { return e.is_stop; });
    if (stop == one->waiting.end()) {
      hold(one->waiting.front().id);
      one->waiting.clear();
      return result;
    }
    const auto reach = stop->scope;
    result.stop = stop->id;
    for (auto before = one->waiting.begin(); before != stop; ++before)
      if (!before->is_stop && reach && before->scope && before->scope->is_at_or_below(*reach))
        result.left_out.push_back(before->id);
      else
        hold(before->id);
    one->waiting.erase(one->waiting.begin(), stop);
    return result;
  }

  /// For the first batch of a process, before anything is due: takes out what a stop behind it in its chat covers. An
  /// earlier process can have performed the stop, so it would end nothing that begins now. One entry for each stop that
  /// covers something.
  std::vector<overtaken> leave_out_stopped() {
    std::vector<overtaken> all;
    for (auto& [chat, one] : lines_) {
      const auto waiting = one.waiting;
      for (const auto& stop : waiting) {
        if (!stop.is_stop || !stop.scope) continue;
        overtaken found{stop.id, {}};
        for (const auto& e : waiting)
          if (e.id < stop.id && !e.is_stop && e.scope && e.scope->is_at_or_below(*stop.scope) && remove(one, e.id))
            found.left_out.push_back(e.id);
        if (!found.left_out.empty()) all.push_back(std::move(found));
      }
    }
    return all;
  }

  /// Every update of the batch is done or held back.
  bool is_over() const {
    return std::all_of(lines_.begin(), lines_.end(),
                       [](const auto& one) { return one.second.waiting.empty() && !one.second.is_busy; });
  }
  /// The oldest update that must come again.
  std::optional<std::int64_t> first_held() const { return held_; }

 private:
  static constexpr std::size_t most_fetched = 64;
  struct line {
    std::deque<entry> waiting;
    bool is_busy = false; ///< its first update is being taken
  };
  line* line_of(std::int64_t id) {
    for (auto& [chat, one] : lines_)
      if (one.is_busy && !one.waiting.empty() && one.waiting.front().id == id) return &one;
    return nullptr;
  }
  static bool remove(line& one, std::int64_t id) {
    return std::erase_if(one.waiting, [id](const entry& e) { return e.id == id; }) > 0;
  }
  void hold(std::int64_t id) { held_ = held_ ? std::min(*held_, id) : id; }

  std::map<std::string, line> lines_;
  std::optional<std::int64_t> held_;
  std::size_t fetched_ = 0;
};

} // namespace quell::integrations::chat::telegram
