// Deliveries that quelld could not take for the moment and that the service brings again. Pure.
//
// A stop that is heard meanwhile covers those that were said before it: they are not begun when they come again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/handled_marks.hpp"
#include "protocol/scope.hpp"

namespace quell::integrations::chat {

/// The effect of an edit or a deletion on a refused request.
enum class refused_change : std::uint8_t {
  none,
  leave_out, ///< it is not begun when it comes again
  ask,       ///< its present form is asked at once
};
/// `is_cancel`: it was edited into a word to stop, which is performed besides.
inline refused_change change_of_refused(const change_rules& rules, bool is_deletion, bool is_cancel) {
  if (is_deletion) return rules.deletion == on_deletion::stop ? refused_change::leave_out : refused_change::none;
  if (is_cancel || rules.edit == on_edit::stop) return refused_change::leave_out;
  return rules.edit == on_edit::ask ? refused_change::ask : refused_change::none;
}

struct refused_delivery {
  scope_path scope;
  std::string posted; ///< the service's number of it; they grow with time
  /// A message that begins work, and not a stop or a button.
  bool is_request = true;
  /// Called once if it is not to be begun at all. Must not use the refused_deliveries. Can be empty.
  std::function<void()> left_out{};
};

class refused_deliveries {
 public:
  /// `key`: the same each time the delivery comes. Bounded: the oldest are forgotten.
  void add(const std::string& key, refused_delivery what) {
    taken(key);
    all_.push_back({key, std::move(what)});
    if (all_.size() > most) all_.pop_front();
  }
  void taken(const std::string& key) {
    std::erase_if(all_, [&](const entry& e) { return e.key == key; });
  }
  /// Whether it is a refused request.
  bool contains(const std::string& key) const {
    return std::any_of(all_.begin(), all_.end(), [&](const entry& e) { return e.key == key && e.what.is_request; });
  }
  /// A request that its author has taken back. False: it is not known here.
  bool leave_out(const std::string& key) {
    return !leave_out_if([&](const entry& e) { return e.key == key && e.what.is_request; }).keys.empty();
  }

  struct covered {
    std::vector<std::string> keys;
    std::size_t requests = 0; ///< of these
  };
  /// Forgets the requests below this scope that were posted before `posted`, a stop, and returns them in order.
  covered stop(const scope_path& scope, const std::string& posted) {
    return leave_out_if([&](const entry& e) {
      return e.what.scope.is_at_or_below(scope) && handled_marks::by_number{}(e.what.posted, posted);
    });
  }
  std::size_t size() const { return all_.size(); }

 private:
  static constexpr std::size_t most = 1000;
  struct entry {
    std::string key;
    refused_delivery what;
  };

  template <class Test>
  covered leave_out_if(const Test& is_covered) {
    covered found;
    std::deque<entry> others;
    auto known = std::exchange(all_, {});
    for (auto& e : known) {
      if (!is_covered(e)) {
        others.push_back(std::move(e));
        continue;
      }
      if (e.what.left_out) e.what.left_out();
      found.keys.push_back(std::move(e.key));
      if (e.what.is_request) ++found.requests;
    }
    all_ = std::move(others);
    return found;
  }

  std::deque<entry> all_;
};

} // namespace quell::integrations::chat
