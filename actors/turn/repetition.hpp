// Whether a model makes the same call again and again and gets the same result each time. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/conversation.hpp"

namespace quell::actors {

struct repetition_limits {
  std::size_t warned = 3;  ///< so many same results of the same call: the model is warned; 0 = never
  std::size_t ended = 5;   ///< so many times the same call, and all but the last with the same result: the turn ends;
                           ///< 0 = never
  std::size_t within = 12; ///< of this many of the newest calls
  friend bool operator==(const repetition_limits&, const repetition_limits&) = default;
};

/// Remembers sizes and hashes, not texts: a result can be large.
class repetition_guard {
 public:
  explicit repetition_guard(repetition_limits limits) : limits_(limits) {}

  /// True if this call would be one too many.
  bool is_too_often(const tool_call& what) const {
    if (limits_.ended == 0) return false;
    const auto call = print_of(what);
    return std::any_of(recent_.begin(), recent_.end(),
                       [&](const seen& one) { return one.call == call && count(one) + 1 >= limits_.ended; });
  }
  /// Remembers the result of a call. Returns how often this call had this result, if the model is to be warned now;
  /// else 0.
  std::size_t note(const tool_call& what, const std::string& result) {
    recent_.push_back({print_of(what), {result.size(), std::hash<std::string>{}(result)}});
    while (recent_.size() > std::max<std::size_t>(limits_.within, 1)) recent_.pop_front();
    const auto times = count(recent_.back());
    return limits_.warned > 0 && times >= limits_.warned ? times : 0;
  }
  /// The same from before a restart. A result that carries the warning was the same as the call's earlier ones.
  void note_past(const tool_call& what, const std::string& result) {
    const auto call = print_of(what);
    const auto earlier =
        std::find_if(recent_.rbegin(), recent_.rend(), [&](const seen& one) { return one.call == call; });
    if (earlier != recent_.rend() && result.find(warning_begin) != std::string::npos) {
      const auto same = *earlier;
      recent_.push_back(same);
      return;
    }
    (void)note(what, result);
  }
  /// The beginning of the warning in a result.
  static constexpr std::string_view warning_begin = "this call was made ";
  const repetition_limits& limits() const { return limits_; }

 private:
  using print = std::pair<std::size_t, std::size_t>; ///< size and hash
  struct seen {
    print call, result;
    friend bool operator==(const seen&, const seen&) = default;
  };
  static print print_of(const tool_call& what) {
    const auto text = what.name + '\0' + what.input;
    return {text.size(), std::hash<std::string>{}(text)};
  }
  std::size_t count(const seen& one) const {
    return static_cast<std::size_t>(std::count(recent_.begin(), recent_.end(), one));
  }

  repetition_limits limits_;
  std::deque<seen> recent_; ///< oldest first
};

} // namespace quell::actors
