// Carries the corrections and retractions that a linked session reports to the turns of those messages, while they wait
// or run.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "integrations/chat/follow_ups.hpp"
#include "integrations/chat/service_session.hpp"

namespace quell::integrations::chat {

/// Used on the link's thread only; must outlive nothing that its runner still runs.
class link_changes {
 public:
  using runner = std::function<std::function<void(std::function<void()>)>()>;

  link_changes(host& at, change_rules rules, runner run, std::function<void(const operation_id&)> drop,
               std::function<void(const std::string&)> log)
      : at_(at), run_(run),
        follow_ups_({at, std::move(run), std::move(drop), std::move(log),
                     [this](incoming_message message, const std::string&) { say(std::move(message)); }, rules}) {}

  void handed_over(const received_message& what) {
    if (!what.key.empty()) (void)follow_ups_.message_posted(what.key, what.message);
  }
  void decided(const std::string& key, const result<decision>& what) {
    if (!key.empty()) follow_ups_.decided(key, what);
  }
  void perform(std::vector<message_change> changes) {
    for (auto& one : changes)
      if (one.now)
        follow_ups_.edited(one.key, std::move(*one.now), one.stamp, one.is_cancel);
      else
        follow_ups_.deleted(one.key, {}, one.key);
  }

 private:
  /// The corrected form, whose id is the key of its entry.
  void say(incoming_message message) {
    const auto key = message.id;
    at_.say(std::move(message), [this, run = run_(), key](result<decision> what) {
      run([this, key, what = std::move(what)] { follow_ups_.decided(key, what); });
    });
  }

  host& at_;
  const runner run_;
  follow_ups follow_ups_;
};

} // namespace quell::integrations::chat
