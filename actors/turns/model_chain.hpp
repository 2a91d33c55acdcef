// The models that a request can reach, in their order: that of the agent, then its fallback models. Pure.
//
// A request is made for one of them, and serves those right behind it into whose context it fits. For a smaller one it
// must be made anew, which the client of the models cannot do: whoever made it asks that one with a request of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "integrations/models/model.hpp"

namespace quell::controller::turns {

class model_chain {
 public:
  explicit model_chain(const integrations::model_settings& first) {
    all_.push_back(first);
    all_.front().fallbacks.clear();
    all_.insert(all_.end(), first.fallbacks.begin(), first.fallbacks.end());
  }

  /// The one for which the next request is made, and, after `note_falls`, the one that answered the last.
  const integrations::model_settings& now() const { return all_[at_]; }
  /// It, with those right behind it that `takes` accepts as its fallback models.
  integrations::model_settings
  with_fallbacks(const std::function<bool(const integrations::model_settings&)>& takes) const {
    auto model = now();
    for (auto other = at_ + 1; other < all_.size() && takes(all_[other]); ++other)
      model.fallbacks.push_back(all_[other]);
    return model;
  }
  /// The call has gone on to the next model so many times.
  void note_falls(std::size_t falls) { at_ = std::min(at_ + falls, all_.size() - 1); }
  /// Goes on to the next one; false if there is none.
  bool next() {
    if (at_ + 1 >= all_.size()) return false;
    ++at_;
    return true;
  }

 private:
  std::vector<integrations::model_settings> all_;
  std::size_t at_ = 0;
};

} // namespace quell::controller::turns
