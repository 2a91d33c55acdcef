// The models that a request can reach, in their order: that of the agent, then its fallback models. Pure.
//
// A request is made for one of them, and serves those right behind it into whose context it fits. For a smaller one it
// must be made anew, which the client of the models cannot do: whoever made it asks that one with a request of its own.
// The time that these calls have waited for turns at models counts for all of them together.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "integrations/models/model.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {

/// The state of one call, from its events. One thread at a time.
class call_course {
 public:
  void note(const model_event& event, boot_time now) {
    if (const auto since = std::exchange(queued_since_, std::nullopt))
      waited += std::chrono::duration_cast<milliseconds>(now - *since); // whatever comes, its turn or its end
    if (std::holds_alternative<model_events::queued>(event)) queued_since_ = now;
    if (std::holds_alternative<model_events::text>(event) || std::holds_alternative<model_events::call>(event))
      has_shown = true;
    if (const auto* other = std::get_if<model_events::fell_back>(&event)) {
      ++falls;
      given_up += other->spent;
    }
    if (const auto* again = std::get_if<model_events::retrying>(&event)) given_up += again->spent;
  }

  bool has_shown = false; ///< words or calls
  std::size_t falls = 0;  ///< to the next model
  model_usage given_up;   ///< of attempts before the one that is under way
  milliseconds waited{0}; ///< for turns at models

 private:
  std::optional<boot_time> queued_since_;
};

class model_chain {
 public:
  explicit model_chain(const integrations::model_settings& first) {
    all_.push_back(first);
    all_.front().fallbacks.clear();
    all_.insert(all_.end(), first.fallbacks.begin(), first.fallbacks.end());
  }

  /// The one for which the next request is made, and, after `note_end`, the one that answered the last.
  const integrations::model_settings& now() const { return all_[at_]; }
  /// It, with those right behind it that `takes` accepts as its fallback models; each with what is left of the time
  /// that it lets a call wait for its turn.
  integrations::model_settings
  with_fallbacks(const std::function<bool(const integrations::model_settings&)>& takes) const {
    auto model = for_next_call(now());
    for (auto other = at_ + 1; other < all_.size() && takes(all_[other]); ++other)
      model.fallbacks.push_back(for_next_call(all_[other]));
    return model;
  }
  /// A call is over.
  void note_end(const call_course& call) {
    at_ = std::min(at_ + call.falls, all_.size() - 1);
    waited_ += call.waited;
  }
  /// Goes on to the next model behind a call that failed, and says so as the client of the models does. nullopt: there
  /// is none, or none can answer this. After `note_end`.
  std::optional<model_events::fell_back> fall_back(const model_events::failed& failed, const call_course& call) {
    if (call.has_shown || !integrations::may_another_model_answer(failed.why) || at_ + 1 >= all_.size())
      return std::nullopt;
    const auto& from = all_[at_++];
    return model_events::fell_back{from.name, now().name, failed.why, usage_less(failed.usage, call.given_up)};
  }

 private:
  integrations::model_settings for_next_call(integrations::model_settings model) const {
    model.queue_timeout = std::max(model.queue_timeout - waited_, milliseconds(0));
    return model;
  }

  std::vector<integrations::model_settings> all_;
  std::size_t at_ = 0;
  milliseconds waited_{0};
};

} // namespace quell::controller::turns
